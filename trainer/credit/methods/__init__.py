"""Credit methods, one file each; a file exports `METHOD` and its name is the id."""
