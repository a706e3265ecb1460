"""Helpers of several commands: output, progress, tables and completion."""
