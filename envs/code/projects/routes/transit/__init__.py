"""A network of lines and the best ways through it."""
