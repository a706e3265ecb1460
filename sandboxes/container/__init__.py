"""Sandboxes in containers: the Docker engine and the streams of programs in them."""
