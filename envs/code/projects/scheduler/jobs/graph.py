"""Orders and chains of jobs that need one another."""

from jobs.errors import CycleFault, MissingFault


def check(jobs):
    """Refuse needs that are missing."""
    missing = {need for job in jobs.values() for need in job.needs if need not in jobs}
    if missing:
        raise MissingFault(sorted(missing))


def ordered(jobs):
    """List the names, each after what it needs."""
    check(jobs)
    done = []
    left = dict(jobs)
    while left:
        ready = [job for job in left.values() if not any(need in left for need in job.needs)]
        if not ready:
            raise CycleFault(sorted(left))
        best = min(ready, key=lambda job: (-job.priority, job.name))
        done.append(best.name)
        del left[best.name]
    return done


def longest_chain(jobs):
    """Return (ticks, names) of the longest chain of needs."""
    chains = {}
    for name in ordered(jobs):
        job = jobs[name]
        before = _best([chains[need] for need in job.needs])
        chains[name] = (before[0] + job.ticks, [*before[1], name])
    return _best(chains.values())


def _best(chains):
    return min(chains, key=lambda chain: (-chain[0], chain[1]), default=(0, []))
