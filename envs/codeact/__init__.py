"""Any environment, acted in by programs."""
