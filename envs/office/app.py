"""What every application of the office is: a name, tables of frozen records, and calls.

A record is never changed, only replaced in its table; so the copy of a world shares its records, and a change is seen
by identity.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

from cairn.envs.office.calls import OfficeError, calls_of, missing

if TYPE_CHECKING:
    from cairn.envs.office.world import World

Record = TypeVar("Record")


class App:
    """Base of the applications. Subclasses declare `name` and `tables`; each table is an attribute.

    The rest says how changes are compared: a field is told as (table, field).
    """

    name: ClassVar[str]
    tables: ClassVar[tuple[str, ...]] = ()
    derived: ClassVar[Mapping[str, frozenset[str]]] = {}  # table -> fields that follow from others or from the clock
    free: ClassVar[frozenset[tuple[str, str]]] = frozenset()  # texts that new records may word as they like
    sets: ClassVar[frozenset[tuple[str, str]]] = frozenset()  # elements come and go one by one
    titles: ClassVar[Mapping[str, str]] = {}  # table -> the field that people know a record by, if not its name or path

    def __init__(self, world: World) -> None:
        self.world = world
        for table in self.tables:
            setattr(self, table, {})

    def table(self, name: str) -> dict[str, Any]:  # Any: each table has its own records
        """Return one of the tables: key -> record."""
        found: dict[str, Any] = getattr(self, name)
        return found

    def perform(self, name: str, arguments: Mapping[str, object]) -> object:
        """Check the arguments and carry out a call.

        Raises:
            OfficeError: there is no such call, an argument is wrong, or the world does not allow it.
        """
        calls = calls_of(type(self))
        if name not in calls:
            raise missing(f"call {self.name}", name, calls, f"its calls: {', '.join(calls)}")
        calls[name].check(arguments)
        return getattr(self, name)(**arguments)


def find(table: Mapping[str, Record], key: str, what: str, hint: str) -> Record:
    """Return a record.

    Raises:
        OfficeError: there is none with this key.
    """
    try:
        return table[key]
    except KeyError:
        raise missing(what, key, table, hint) from None


def require(holds: object, otherwise: str) -> None:
    """Raise `OfficeError` with this text unless the condition holds."""
    if not holds:
        raise OfficeError(otherwise)
