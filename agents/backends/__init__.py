"""Ways to sample replies: one file each."""
