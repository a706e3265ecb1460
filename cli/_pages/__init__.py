"""Generators of documentation pages, one file each."""
