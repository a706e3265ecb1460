"""Cairn's environments in other trainers."""
