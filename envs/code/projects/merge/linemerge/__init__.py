"""Compares and merges lists of lines, and keeps their history."""
