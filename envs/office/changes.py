"""Comparable differences between two worlds: new and deleted records, and changed fields.

Excluded are fields that depend on other changes or on the clock (balances, times of sending and writing), the ids of
new records, and white space at the ends of a file's lines. A field that holds a set is compared element by element.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields
from typing import Any

from cairn.envs.office.calls import shown
from cairn.envs.office.world import World

Values = Mapping[str, object]


@dataclass(frozen=True, kw_only=True)
class Change:
    """One difference between two worlds."""

    table: str
    key: str  # of the record
    what: str  # "new", "gone", a field, or a field and the added ("labels +") or removed ("labels -") element
    value: object  # the values of a new record, None for a deleted one, else the field's new value or the element
    text: str  # description for people

    @property
    def place(self) -> tuple[str, str, str, object]:
        """The location and, for fields, the new value; equal for equal changes of existing records."""
        return self.table, self.key, self.what, None if self.what in ("new", "gone") else self.value


def changes(before: World, after: World) -> list[Change]:
    """Return all differences, except those that the module's docstring excludes."""
    reading = _Reading(before, after)
    found: list[Change] = []
    tables = before.tables
    for table, records in after.tables.items():
        old = tables[table]
        if records == old:  # the usual case, and quick, because unchanged records are identical
            continue
        found += [reading.gone(table, key, record) for key, record in old.items() if key not in records]
        for key, record in records.items():
            if key not in old:
                found.append(reading.new(table, key, record))
            elif record is not old[key]:
                found += reading.fields(table, key, old[key], record)
    return found


class _Reading:
    """Reads records in a comparable form: sets as sets, new ids as descriptions."""

    def __init__(self, before: World, after: World) -> None:
        self.before, self.after = before, after
        self.threads = {mail.thread for mail in before.mail.mails.values()}
        apps = after.apps.values()
        self.derived = {table: names for app in apps for table, names in app.derived.items()}
        self.sets = frozenset(field for app in apps for field in app.sets)
        self.titles = {table: field for app in apps for table, field in app.titles.items()}

    def gone(self, table: str, key: str, record: Any) -> Change:  # Any, here and below: a record of any table
        text = f"{self._title(table, key, record)} is gone"
        return Change(table=table, key=key, what="gone", value=None, text=text)

    def new(self, table: str, key: str, record: Any) -> Change:
        values = self.values(table, record)
        text = ", ".join(f"{name} {shown(_sorted(value))}" for name, value in values.items() if value not in ("", ()))
        return Change(table=table, key=key, what="new", value=values, text=f"new in {table}: {text}")

    def fields(self, table: str, key: str, old: Any, new: Any) -> Iterator[Change]:
        title = self._title(table, key, old)
        was, now = self.values(table, old), self.values(table, new)
        for name in now:
            before, after = was[name], now[name]
            if isinstance(before, frozenset) and isinstance(after, frozenset):
                for sign, elements in (("+", after - before), ("-", before - after)):
                    for each in sorted(elements):
                        text = f"{title}: {name} {'got' if sign == '+' else 'lost'} {shown(each)}"
                        yield Change(table=table, key=key, what=f"{name} {sign}", value=each, text=text)
            elif before != after:
                text = f"{title}: {name} is {shown(after)}, was {shown(before)}"
                yield Change(table=table, key=key, what=name, value=after, text=text)

    def values(self, table: str, record: Any) -> dict[str, object]:
        left_out = self.derived.get(table, frozenset())
        names = (field.name for field in fields(record) if field.name not in left_out)
        return {name: self._value(table, name, getattr(record, name)) for name in names}

    def _value(self, table: str, name: str, value: Any) -> object:
        if (table, name) == ("groups", "members"):
            value = map(self._stable, value)
        if (table, name) in self.sets:
            return frozenset(value)
        if (table, name) in (("transactions", "party"), ("comments", "issue")):
            return self._stable(value)
        if (table, name) == ("mails", "thread"):
            return value if value in self.threads else "a new one"
        if (table, name) == ("files", "text"):
            return "\n".join(line.rstrip() for line in value.splitlines()).strip("\n")
        return value

    def _stable(self, key: str) -> str:
        """Return a record's id if it existed before, else a description that identifies it."""
        if key in self.after.contacts.contacts and key not in self.before.contacts.contacts:
            return f"new contact {self.after.contacts.contacts[key].address}"
        if key in self.after.payments.payees and key not in self.before.payments.payees:
            return f"new payee {self.after.payments.payees[key].reference}"
        if key in self.after.issues.issues and key not in self.before.issues.issues:
            return f"new issue {self.after.issues.issues[key].title}"
        return key

    def _title(self, table: str, key: str, record: Any) -> str:
        title = getattr(record, self.titles.get(table, "name"), "")
        return f"{table} {key!r}" + (f" ({title})" if title and title != key else "")


def _sorted(value: object) -> object:
    return sorted(value) if isinstance(value, frozenset) else value
