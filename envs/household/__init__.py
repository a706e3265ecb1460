"""Household environment: ALFWorld's rules and texts in pure Python."""
