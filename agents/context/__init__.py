"""History to prompt ids: one file a policy."""
