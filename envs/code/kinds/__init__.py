"""The kinds of coding tasks; each module exports one `KIND`."""
