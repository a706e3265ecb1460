"""Orders of a shop: prices, states, payments and returns."""
