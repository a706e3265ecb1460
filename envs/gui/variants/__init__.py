"""Browser environments: every module without a leading underscore exports `ENV`."""
