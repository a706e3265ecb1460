"""A stockroom: pieces, their costs, reservations and movements."""
