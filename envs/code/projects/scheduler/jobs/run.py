"""Simulates workers, tick by tick."""


class Run:
    """What happened: rows of (name, worker, begin, end)."""

    def __init__(self, jobs, workers):
        self._jobs = jobs
        self._workers = workers
        self._rows = []
        self._ends = {}
        self._ready = {}
        self.length = 0
        self._simulate()

    def rows(self):
        """List what ran where and when."""
        return sorted(self._rows, key=lambda row: (row[2], row[1]))

    def late(self):
        """Map the jobs that ended after they were due to how late they were."""
        return {
            name: self._ends[name] - job.due
            for name, job in self._jobs.items()
            if job.due is not None and self._ends[name] > job.due
        }

    def idle(self):
        """Count the ticks in which workers had nothing to do."""
        return self.length * self._workers - sum(end - begin for _, _, begin, end in self._rows)

    def waited(self, name):
        """Return the ticks between ready and begin."""
        begin = next(row[2] for row in self._rows if row[0] == name)
        return begin - self._ready[name]

    def _simulate(self):
        waiting = dict(self._jobs)
        running = {}  # worker -> (name, begin, end)
        tick = 0
        while waiting or running:
            for worker, (name, begin, end) in sorted(running.items()):
                if end == tick:
                    self._ends[name] = end
                    self._rows.append((name, worker, begin, end))
                    self.length = end
                    del running[worker]
            for worker in range(self._workers):
                if worker in running:
                    continue
                name = self._next(waiting, tick)
                if name is None:
                    break
                running[worker] = (name, tick, tick + waiting.pop(name).ticks)
            tick += 1

    def _next(self, waiting, tick):
        candidates = []
        for name, job in waiting.items():
            ready = job.ready_at(self._ends)
            if ready is not None and ready <= tick:
                self._ready[name] = ready
                candidates.append((-job.urgency(tick - ready), name))
        return min(candidates)[1] if candidates else None
