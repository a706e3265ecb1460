"""Trackers: where a run's metrics go besides its own store; one file each, and nothing here imports their packages."""
