"""A plan: jobs by name."""

from jobs.graph import longest_chain, ordered
from jobs.job import Job
from jobs.run import Run


class Plan:
    """Jobs for a number of workers."""

    def __init__(self, workers=1):
        if workers < 1:
            raise ValueError(f"at least 1 worker, got {workers}")
        self._workers = workers
        self._jobs = {}

    def add(self, name, ticks, priority=0, needs=(), earliest=0, due=None):
        """Add a job."""
        if name in self._jobs:
            raise ValueError(f"there is a job {name!r} already")
        self._jobs[name] = Job(name, ticks, priority, needs, earliest, due)

    def order(self):
        """List the names, each after what it needs."""
        return ordered(self._jobs)

    def run(self):
        """Simulate the plan."""
        ordered(self._jobs)  # refuses what would never end
        return Run(dict(self._jobs), self._workers)

    def path(self):
        """Return (ticks, names) of the critical path."""
        return longest_chain(self._jobs)
