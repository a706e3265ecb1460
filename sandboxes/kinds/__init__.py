"""The kinds of sandbox; each module exports one `SANDBOX`."""
