"""A household in text: fetch, clean, heat, cool, look. The rules and texts of ALFWorld's games, in plain Python."""
