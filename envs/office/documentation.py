"""The office's documentation for agents, generated from the calls.

It has three levels: an overview, one application, or one call in full.
"""

from __future__ import annotations

from functools import cache

from cairn.envs.office.app import App
from cairn.envs.office.calendar import Calendar
from cairn.envs.office.calls import PAGE, AppMethod, Parameter, calls_of, missing
from cairn.envs.office.contacts import Contacts
from cairn.envs.office.files import Files
from cairn.envs.office.mail import MailApp
from cairn.envs.office.payments import Payments
from cairn.envs.office.world import Clock

APPS: tuple[type[App], ...] = (Clock, MailApp, Calendar, Files, Contacts, Payments)
_OVERVIEW = f"""Applications of the office:
{{apps}}

Call them as office.APPLICATION.CALL(argument=value, ...); all arguments are named. A call returns JSON data, or raises
OfficeError with a message that names the expected values. Lists come in pages of at most {PAGE}:
{{{{"items": [...], "total": n, "next_offset": m}}}}; pass offset=m for the next page; it is None after the last.
Days are texts like '2031-05-04', moments like '2031-05-04T09:30', money is in whole cents.
office.docs(app) lists the calls of an application, office.docs(app, name) documents one call in full."""


@cache
def documentation(app: str | None = None, name: str | None = None) -> str:
    """Return the overview, the calls of an application, or the documentation of one call.

    The last has the arguments and an example of the result.

    Raises:
        OfficeError: unknown application or call.
    """
    apps = {each.name: each for each in APPS}
    if app is None:
        return _OVERVIEW.format(apps="\n".join(f"  {each.name:<9} {_first(each.__doc__ or '')}" for each in APPS))
    if app not in apps:
        raise missing("application", app, apps, f"there are: {', '.join(apps)}")
    calls = calls_of(apps[app])
    if name is None:
        return "\n".join(
            [f"Calls of {app}:", *(f"  {_signature(each)}\n      {_first(each.text)}" for each in calls.values())]
        )
    if name not in calls:
        raise missing(f"call {app}", name, calls, f"its calls: {', '.join(calls)}")
    return _in_full(app, calls[name])


def _first(text: str) -> str:
    """Return the first paragraph on one line."""
    return " ".join(text.split("\n\n")[0].split())


def _signature(each: AppMethod) -> str:
    parameters = (p.name if p.is_required else f"{p.name}={p.default!r}" for p in each.parameters.values())
    return f"{each.name}({', '.join(parameters)})"


def _in_full(app: str, each: AppMethod) -> str:
    arguments = [f"  {p.name}: {p.description}{_default(p)}" for p in each.parameters.values()]
    example = " ".join(each.example.split())
    parts = [
        f"office.{app}.{_signature(each)}",
        each.text,
        "Arguments:",
        *(arguments or ["  none"]),
        f"Returns, for example:\n  {example}",
    ]
    return "\n".join(parts)


def _default(parameter: Parameter) -> str:
    return "" if parameter.is_required else f" (if not given: {parameter.default!r})"
