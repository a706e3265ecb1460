"""Families of tasks in the web shop, as environments ``webshop/NAME``: basket, cheapest, dead ends, distractors."""
