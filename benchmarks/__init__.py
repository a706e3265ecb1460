"""Benchmarks behind ``cairn bench``: one module a question."""
