"""Perturbations: changed wordings, names or orders of the same task.

Each is a file that exports `PERTURBATION`, a class and its Config.
"""
