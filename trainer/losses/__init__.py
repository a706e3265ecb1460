"""Policy losses, one file per loss: one value to minimise per decided token."""
