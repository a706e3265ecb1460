"""The agent's knowledge during an episode: listed contents and objects that it moved.

Only the agent changes the house, so a fact that was shown stays true. The knowledge is exactly as precise as the texts:
an object that lies in two receptacles is known to be only in the one that was listed, and an object that was cool from
the start is not known to be cool.
"""

from __future__ import annotations

from typing import Any


class Memory:
    """Facts that were shown; sets are integers with one bit for each object or receptacle."""

    __slots__ = ("explored", "shown", "treated")

    def __init__(self, num_receptacles: int) -> None:
        self.explored = 0  # receptacles whose contents were listed
        self.shown = [0] * num_receptacles  # [R] objects known to be in each
        self.treated = {"clean": 0, "heat": 0, "cool": 0}  # objects that the agent itself made clean, hot, cool

    def see(self, r: int, contents: int) -> None:
        """Record that the contents of a receptacle were listed."""
        self.explored |= 1 << r
        self.shown[r] = contents

    def take(self, o: int, r: int) -> None:
        """Record that the agent took an object."""
        self.shown[r] &= ~(1 << o)

    def put(self, o: int, r: int) -> None:
        """Record that the agent put an object down."""
        self.shown[r] |= 1 << o

    def treat(self, treatment: str, o: int) -> None:
        """Record a treatment of an object; heating undoes cooling and vice versa."""
        if treatment != "clean":
            self.treated["heat"] &= ~(1 << o)
            self.treated["cool"] &= ~(1 << o)
        self.treated[treatment] |= 1 << o

    def save(self) -> tuple[Any, ...]:  # Any: read by `load` only
        """Return everything that changes."""
        return (self.explored, tuple(self.shown), tuple(self.treated.items()))

    def load(self, saved: tuple[Any, ...]) -> None:  # Any: see save
        """Restore a state that `save` returned."""
        self.explored, shown, treated = saved
        self.shown = list(shown)
        self.treated = dict(treated)

    def key(self) -> bytes:
        """Return the knowledge in canonical form."""
        return repr(self.save()).encode()
