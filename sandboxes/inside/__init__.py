"""Programs that run inside sandboxes: they import only the standard library and each other."""
