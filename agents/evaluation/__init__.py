"""Evaluation: task panels, episodes on them, metrics, comparisons and reports."""
