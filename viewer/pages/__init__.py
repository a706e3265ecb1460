"""The pages, one file each: every module exports ``ROUTES``, pairs of an address and the function that answers it."""
