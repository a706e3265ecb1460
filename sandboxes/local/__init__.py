"""Sandboxes that are processes of this machine: places, users, control groups and system call filters."""
