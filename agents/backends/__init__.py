"""Generation back ends: one file each."""
