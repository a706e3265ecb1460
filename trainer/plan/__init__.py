"""Estimates a run's needs before it starts: memory by part, speed, and problems."""
