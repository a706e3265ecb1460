"""Sandboxes on another machine: the HTTP protocol, its server and its limits."""
