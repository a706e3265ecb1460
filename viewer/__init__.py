"""Web pages and figures of runs."""
