"""Changes: (start, end, lines) for what is replaced in an old list."""

from linemerge.errors import PatchFault
from linemerge.match import matches


def diff(old, new):
    """List the changes that lead from one list to another."""
    changes = []
    i = j = 0
    for next_i, next_j in [*matches(old, new), (len(old), len(new))]:
        if next_i > i or next_j > j:
            changes.append((i, next_i, list(new[j:next_j])))
        i, j = next_i + 1, next_j + 1
    return changes


def apply(old, changes):
    """Return the list that changes lead to."""
    result = []
    place = 0
    for start, end, lines in changes:
        if start < place or end < start or end > len(old):
            raise PatchFault(f"nothing to replace from {start} to {end}")
        result += old[place:start]
        result += lines
        place = end
    return result + old[place:]


def inverse(old, changes):
    """List the changes that lead back."""
    back = []
    shift = 0
    for start, end, lines in changes:
        begin = start + shift
        back.append((begin, begin + len(lines), list(old[start:end])))
        shift += len(lines) - (end - start)
    return back
