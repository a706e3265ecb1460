"""Hostile programs, the required outcome of each, and their runner.

Used by `cairn doctor --sandbox` and the tests.
"""
