"""Places where untrusted code runs."""
