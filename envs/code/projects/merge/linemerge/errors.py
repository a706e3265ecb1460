"""What does not fit."""


class PatchFault(Exception):
    """Changes that cannot be applied to a list."""
