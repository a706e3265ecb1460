"""Sandboxes: isolated environments in which untrusted code runs."""
