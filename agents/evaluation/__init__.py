"""Evaluation: panels of tasks, episodes played on them, metrics with intervals, comparisons and reports."""
