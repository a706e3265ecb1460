"""Tables from text: reading, conditions, sorting, grouping."""
