"""Merges two lists that come from one."""

from linemerge.diff import apply, diff

_SIDES = ("ours", "theirs", "both")


def merge(base, ours, theirs):
    """Return what both sides changed, together."""
    parts = []
    place = 0
    for start, end, our_changes, their_changes in _groups(diff(base, ours), diff(base, theirs)):
        parts.append((base[place:start], None))
        our_lines = _version(base, start, end, our_changes)
        their_lines = _version(base, start, end, their_changes)
        if not their_changes or our_lines == their_lines:
            parts.append((our_lines, None))
        elif not our_changes:
            parts.append((their_lines, None))
        else:
            parts.append((our_lines, their_lines))
        place = end
    parts.append((base[place:], None))
    return Merged(parts)


class Merged:
    """Parts (our lines, their lines), None for theirs where there is no conflict."""

    def __init__(self, parts):
        self._parts = parts

    @property
    def conflicts(self):
        """Count the conflicts."""
        return sum(1 for _, theirs in self._parts if theirs is not None)

    @property
    def is_clean(self):
        """Return whether there is no conflict."""
        return self.conflicts == 0

    def lines(self):
        """List the lines, with marks around conflicts."""
        result = []
        for ours, theirs in self._parts:
            if theirs is None:
                result += ours
            else:
                result += ["<<<<<<<", *ours, "=======", *theirs, ">>>>>>>"]
        return result

    def resolve(self, side):
        """List the lines with every conflict decided."""
        if side not in _SIDES:
            raise ValueError(f"one of {_SIDES}, got {side!r}")
        result = []
        for ours, theirs in self._parts:
            if theirs is None or side != "theirs":
                result += ours
            if theirs is not None and side != "ours":
                result += theirs
        return result


def _groups(ours, theirs):
    """List (start, end, our changes, their changes) of what hangs together, in order."""
    waiting = sorted([(*change[:2], 0, change) for change in ours] + [(*change[:2], 1, change) for change in theirs])
    groups = []
    for start, end, side, change in waiting:
        if not groups or not _collides(groups[-1], start, end):
            groups.append([start, end, [], []])
        group = groups[-1]
        group[1] = max(group[1], end)
        group[2 + side].append(change)
    return groups


def _collides(group, start, end):
    return start < group[1] or (start == group[0] and (end == start or group[0] == group[1]))


def _version(base, start, end, changes):
    """Return one side's lines for a range of the base."""
    moved = [(first - start, last - start, lines) for first, last, lines in changes]
    return apply(base[start:end], moved)
