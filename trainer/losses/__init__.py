"""Policy losses: one value a decided token, to be minimised. One file a loss."""
