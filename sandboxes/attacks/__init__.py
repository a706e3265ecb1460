"""Hostile programs, what must come of each, and how they are tried: `cairn doctor --sandbox`, and the tests."""
