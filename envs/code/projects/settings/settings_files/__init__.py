"""Settings from texts that include one another."""
