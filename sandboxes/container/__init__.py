"""Sandboxes in containers: the Docker engine and the streams to programs in it."""
