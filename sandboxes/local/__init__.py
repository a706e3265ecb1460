"""Sandboxes that are processes of this machine: users, control groups, system call filters."""
