"""Decides who may do something how often."""
