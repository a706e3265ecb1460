"""Environments in a browser: every module here without a leading underscore exports `ENV`."""
