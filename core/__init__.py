"""Records, errors, seeds, keys, configuration and plug-in discovery: what every other folder builds on."""
