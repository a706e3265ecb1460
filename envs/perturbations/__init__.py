"""Perturbations: the same task told otherwise. Each is a file that exports `PERTURBATION`, a class and its Config."""
