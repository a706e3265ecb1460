"""Credit methods, one file per method; a file exports `CREDIT`, and its name is the id."""
