"""Trackers: send a run's metrics to external tools; one file per tracker.

This package imports none of the tools' packages.
"""
