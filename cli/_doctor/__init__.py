"""The checks of `cairn doctor`: one file per kind; they change nothing and query no server."""
