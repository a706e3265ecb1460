"""A calculator: tokens, trees, values, and sessions with variables."""
