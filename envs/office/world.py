"""The office's world: one person's applications, a fixed current moment, and a log of calls.

`state()` returns everything that determines the future; the log is not part of it. Ids look random but depend only on
the seed and the number of earlier ids, so equal calls on equal worlds give equal ids.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

from cairn.envs.office.app import App, require
from cairn.envs.office.calendar import Calendar
from cairn.envs.office.calls import OfficeError, call, missing
from cairn.envs.office.clock import day_of, weekday
from cairn.envs.office.contacts import Contacts
from cairn.envs.office.files import Files
from cairn.envs.office.issues import Issues
from cairn.envs.office.mail import MailApp
from cairn.envs.office.payments import Payments
from cairn.envs.office.settings import Settings
from cairn.envs.office.sheets import Sheets

_NUM_IDS, _ID_STEP, _SEED_STEP = 36**5, 37_234_567, 14_480_291  # the step is coprime to 36
MAX_IDS = 5_000
_DIGITS = "0123456789abcdefghijklmnopqrstuvwxyz"


@dataclass(frozen=True, kw_only=True, slots=True)
class LogEntry:
    """One call in the log."""

    app: str
    name: str
    arguments: Mapping[str, object]
    ok: bool


class Clock(App):
    """Who you are and what time it is."""

    name = "world"

    @call
    def now(self) -> dict[str, object]:
        """Return the present moment; it does not pass.

        Example: {"now": "2031-05-04T08:00", "day": "2031-05-04", "weekday": "Sunday"}
        """
        now = self.world.now
        names = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
        return {"now": now, "day": day_of(now), "weekday": names[weekday(day_of(now))]}

    @call
    def me(self) -> dict[str, object]:
        """Return the name and the mail address of the person whose office this is.

        Example: {"name": "Ana Brandt", "address": "ana.brandt@home.example"}
        """
        return {"name": self.world.owner, "address": self.world.address}


OFFICE: tuple[type[App], ...] = (Clock, MailApp, Calendar, Files, Contacts, Payments)
DESK: tuple[type[App], ...] = (*OFFICE, Issues, Sheets, Settings)


class World:
    """The applications of one person, and the log of calls.

    An application that the world does not have cannot be called and is not part of the state. A world may have
    applications beyond the office's own; they are accessible only through `apps`.
    """

    def __init__(self, *, seed: int, now: str, owner: str, address: str, has: tuple[type[App], ...] = OFFICE) -> None:
        self.seed = seed
        self.now = now
        self.owner = owner
        self.address = address
        self.num_ids = 0
        self.log: list[LogEntry] = []
        self.clock = Clock(self)
        self.mail = MailApp(self)
        self.calendar = Calendar(self)
        self.files = Files(self)
        self.contacts = Contacts(self)
        self.payments = Payments(self)
        self.issues = Issues(self)
        self.sheets = Sheets(self)
        self.settings = Settings(self)
        self.has = has
        ours = {app.name: app for app in vars(self).values() if isinstance(app, App)}
        self.apps: dict[str, App] = {app.name: ours.get(app.name) or app(self) for app in has}

    @property
    def tables(self) -> dict[str, dict[str, Any]]:  # Any: each table has its own records
        """Every table of every application; table names are unique."""
        return {table: app.table(table) for app in self.apps.values() for table in app.tables}

    @property
    def free(self) -> frozenset[tuple[str, str]]:
        """Texts that may be worded freely in new records, as (table, field)."""
        return frozenset(field for app in self.apps.values() for field in app.free)

    def call(self, app: str, name: str, arguments: Mapping[str, object]) -> object:
        """Execute a call and log it; a failed call changes nothing else.

        Raises:
            OfficeError: the call failed; the message states the expected value or state.
        """
        try:
            require(self.num_ids < MAX_IDS, f"the office is full: {MAX_IDS} mails, events, contacts and payments")
            result = self._application(app).perform(name, arguments)
        except OfficeError:
            self.log.append(LogEntry(app=app, name=name, arguments=dict(arguments), ok=False))
            raise
        self.log.append(LogEntry(app=app, name=name, arguments=dict(arguments), ok=True))
        return result

    def state(self) -> bytes:
        """Return everything but the log as canonical JSON; equal bytes mean equal futures."""
        head = {"seed": self.seed, "now": self.now, "owner": self.owner, "address": self.address, "ids": self.num_ids}
        whole = {**head, "tables": self.tables}
        return json.dumps(whole, default=_values, sort_keys=True, separators=(",", ":")).encode("ascii")

    def copy(self) -> World:
        """Return an equal, independent world."""
        other = World(seed=self.seed, now=self.now, owner=self.owner, address=self.address, has=self.has)
        other.num_ids = self.num_ids
        other.log = list(self.log)
        tables = other.tables
        for name, table in self.tables.items():
            tables[name].update(table)
        return other

    def new_id(self, prefix: str) -> str:
        """Return a unique id."""
        number = (self.num_ids * _ID_STEP + self.seed * _SEED_STEP) % _NUM_IDS
        self.num_ids += 1
        digits = ""
        for _ in range(5):
            number, digit = divmod(number, 36)
            digits += _DIGITS[digit]
        return f"{prefix}-{digits}"

    def _application(self, name: str) -> App:
        if name not in self.apps:
            raise missing("application", name, self.apps, f"there are: {', '.join(self.apps)}")
        return self.apps[name]


def _values(record: Any) -> dict[str, object]:  # Any: a record of any table
    return {field.name: getattr(record, field.name) for field in fields(record)}
