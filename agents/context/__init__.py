"""Context policies, which turn an episode's history into prompt ids: one file each."""
