"""Lists the sub-packages of the top-level folders, which import as ``cairn.<folder>`` (see pyproject.toml)."""

from setuptools import find_packages, setup

TOP = ["core", "sandboxes", "envs", "agents", "trainer", "viewer", "cli", "configs", "benchmarks"]
setup(packages=["cairn", *(f"cairn.{p}" for top in TOP for p in [top, *(f"{top}.{q}" for q in find_packages(top))])])
