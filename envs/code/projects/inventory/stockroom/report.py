"""Reports: what to order, and sums by month."""

DAYS_IN_MONTH = 30


def packs_to_order(available, reorder_at, pack):
    """Return the pieces in the fewest packs that bring what is available above `reorder_at`; 0 where it is above."""
    missing = reorder_at + 1 - available
    if missing <= 0:
        return 0
    packs = (missing + pack - 1) // pack
    return packs * pack


def monthly(entries):
    """Sum movements by month: (month, pieces in, pieces out, cents in, cents out)."""
    sums = {}
    for day, _, change, cents in entries:
        month = sums.setdefault(day // DAYS_IN_MONTH, [0, 0, 0, 0])
        if change > 0:
            month[0] += change
            month[2] += cents
        else:
            month[1] -= change
            month[3] += cents
    return [(number, *sums[number]) for number in sorted(sums)]
