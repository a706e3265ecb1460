"""The ``cairn`` command: one file a sub-command."""
