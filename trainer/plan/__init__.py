"""What a run will need of its machines, before it starts: memory by part, expected speed, and what does not fit."""
