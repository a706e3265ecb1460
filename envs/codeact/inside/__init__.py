"""Code that runs in the sandbox before a program: standard library only."""
