"""Versions of a list, stored as changes."""

from linemerge.diff import apply, diff, inverse


class History:
    """The last version, and what leads back from each version to the one before."""

    def __init__(self, lines):
        self._last = list(lines)
        self._back = []
        self._origins = [0] * len(self._last)

    def commit(self, lines):
        """Add a version and return its number."""
        changes = diff(self._last, lines)
        if changes:
            number = len(self._back) + 1
            self._back.append(inverse(self._last, changes))
            marks = [(start, end, [number] * len(new)) for start, end, new in changes]
            self._origins = apply(self._origins, marks)
            self._last = list(lines)
        return len(self._back)

    def version(self, number):
        """Return the lines of a version."""
        if not 0 <= number <= len(self._back):
            raise IndexError(number)
        lines = list(self._last)
        for changes in reversed(self._back[number:]):
            lines = apply(lines, changes)
        return lines

    def blame(self):
        """List the version with which each line came."""
        return list(self._origins)
