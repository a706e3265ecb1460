"""A cache with weights, ages and an order of use."""
