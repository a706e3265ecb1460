"""Task samplers: the tasks of the next groups."""
