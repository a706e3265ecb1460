"""What an agent has been told during an episode: contents that were listed, objects that it moved itself.

The agent is the only one who acts, so what was once shown stays true. Kept exactly as far as the texts go: an object
that lies in two receptacles is known to be in the one that was listed, and an object that was cool from the start is
not known to be.
"""

from __future__ import annotations

from typing import Any


class Memory:
    """What has been seen; sets are integers with one bit for each object or receptacle."""

    __slots__ = ("explored", "shown", "treated")

    def __init__(self, num_receptacles: int) -> None:
        self.explored = 0  # receptacles whose contents were listed
        self.shown = [0] * num_receptacles  # [R] objects known to be in each
        self.treated = {"clean": 0, "heat": 0, "cool": 0}  # objects that the agent itself made clean, hot, cool

    def see(self, r: int, contents: int) -> None:
        """Note that the contents of a receptacle were listed."""
        self.explored |= 1 << r
        self.shown[r] = contents

    def take(self, o: int, r: int) -> None:
        """Note that the agent took an object."""
        self.shown[r] &= ~(1 << o)

    def put(self, o: int, r: int) -> None:
        """Note that the agent put an object down."""
        self.shown[r] |= 1 << o

    def treat(self, treatment: str, o: int) -> None:
        """Note that the agent cleaned, heated or cooled an object; heat undoes cold and the other way round."""
        if treatment != "clean":
            self.treated["heat"] &= ~(1 << o)
            self.treated["cool"] &= ~(1 << o)
        self.treated[treatment] |= 1 << o

    def save(self) -> tuple[Any, ...]:  # Any: read by `load` only
        """Return everything that changes."""
        return (self.explored, tuple(self.shown), tuple(self.treated.items()))

    def load(self, saved: tuple[Any, ...]) -> None:  # Any: see save
        """Go back to what `save` returned."""
        self.explored, shown, treated = saved
        self.shown = list(shown)
        self.treated = dict(treated)

    def key(self) -> bytes:
        """Return what is known in canonical form."""
        return repr(self.save()).encode()
