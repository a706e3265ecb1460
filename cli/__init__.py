"""The ``cairn`` command: one file per sub-command."""
