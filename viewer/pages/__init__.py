"""The pages, one file each: every module exports ``ROUTES``, pairs of path and handler."""
