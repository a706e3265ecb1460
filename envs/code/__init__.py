"""Writing, repairing and running code in a sandbox, over many turns."""
