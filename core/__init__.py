"""Shared base of all folders: records, errors, seeds, keys, configuration and plug-ins."""
