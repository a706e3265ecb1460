"""One job, and how urgent it is."""

TICKS_TO_AGE = 10


class Job:
    """What runs, for how long, and what it waits for."""

    def __init__(self, name, ticks, priority, needs, earliest, due):
        if ticks < 1:
            raise ValueError(f"a job takes at least 1 tick, got {ticks}")
        if earliest < 0:
            raise ValueError(f"time begins at 0, got {earliest}")
        self.name = name
        self.ticks = ticks
        self.priority = priority
        self.needs = tuple(needs)
        self.earliest = earliest
        self.due = due

    def ready_at(self, ends):
        """Return the tick at which the job is ready, given when others ended; None while one has not."""
        if any(need not in ends for need in self.needs):
            return None
        return max([self.earliest, *(ends[need] for need in self.needs)])

    def urgency(self, waited):
        """Return the priority, raised by waiting."""
        return self.priority + waited // TICKS_TO_AGE
