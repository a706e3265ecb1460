"""Browser environments: office web applications (`apps`), and tasks with oracles (`tasks`)."""
