"""Base class of the office's applications: a name, tables of frozen records, and calls.

A record is never mutated, only replaced in its table. So copies of a world share records, and changes are detected by
identity.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

from cairn.envs.office.calls import OfficeError, calls_of, missing

if TYPE_CHECKING:
    from cairn.envs.office.world import World

Record = TypeVar("Record")


class App:
    """Base of the applications; subclasses declare `name` and `tables`.

    Each table is an attribute. The other class variables configure the comparison of changes; a field is denoted by
    (table, field).
    """

    name: ClassVar[str]
    tables: ClassVar[tuple[str, ...]] = ()
    derived: ClassVar[Mapping[str, frozenset[str]]] = {}  # table -> fields that depend on others or on the clock
    free: ClassVar[frozenset[tuple[str, str]]] = frozenset()  # texts that may be worded freely in new records
    sets: ClassVar[frozenset[tuple[str, str]]] = frozenset()  # fields that are compared as sets, element by element
    titles: ClassVar[Mapping[str, str]] = {}  # table -> field that people know a record by, if not name or path

    def __init__(self, world: World) -> None:
        self.world = world
        for table in self.tables:
            setattr(self, table, {})

    def table(self, name: str) -> dict[str, Any]:  # Any: each table has its own records
        """Return one of the tables: key -> record."""
        found: dict[str, Any] = getattr(self, name)
        return found

    def perform(self, name: str, arguments: Mapping[str, object]) -> object:
        """Check the arguments and execute a call.

        Raises:
            OfficeError: unknown call, invalid argument, or an action that the world does not allow.
        """
        calls = calls_of(type(self))
        if name not in calls:
            raise missing(f"call {self.name}", name, calls, f"its calls: {', '.join(calls)}")
        calls[name].check(arguments)
        return getattr(self, name)(**arguments)


def find(table: Mapping[str, Record], key: str, what: str, hint: str) -> Record:
    """Return a record.

    Raises:
        OfficeError: unknown key.
    """
    try:
        return table[key]
    except KeyError:
        raise missing(what, key, table, hint) from None


def require(holds: object, otherwise: str) -> None:
    """Raise `OfficeError` with this text unless the condition holds."""
    if not holds:
        raise OfficeError(otherwise)
