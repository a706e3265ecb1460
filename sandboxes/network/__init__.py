"""Network access of sandboxes: allowed destinations, through a proxy."""
