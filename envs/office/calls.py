"""Calls of the office's applications: the `@call` decorator and argument checks.

A method marked with `@call` is public. Its keyword-only parameters are annotated with JSON types (`str`, `int`, `bool`,
`list[str]`, each or None), and with a `ValueFormat` if only some values of the type are valid. Its docstring describes
the call for agents and ends with ``Example:`` and a result in JSON. Each call returns a newly built JSON value.

Arguments are not converted: an amount as text is an error that states the expected type.
"""

from __future__ import annotations

import difflib
import inspect
import re
from collections.abc import Callable, Hashable, Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from functools import cache
from types import NoneType, UnionType
from typing import Annotated, Any, TypeVar, Union, get_args, get_origin, get_type_hints

MAX_TEXT = 20_000  # characters of an argument
MAX_LIST = 100  # members of an argument
PAGE = 20  # results of one call
MAX_CENTS = 10_000_000

Method = TypeVar("Method", bound=Callable[..., object])
_MARK = "is_office_call"
_TYPES = {str: "text", int: "whole number", bool: "true or false", list[str]: "list of texts"}


class OfficeError(Exception):
    """A call failed; the message is for the agent and states the expected value or state."""


@dataclass(frozen=True)
class ValueFormat:
    """A format that a value must have in addition to its type."""

    description: str  # after "must be"
    holds: Callable[[Any], object]  # Any: a value of the annotated type; returns a truth value


def _is_moment(text: str) -> bool:
    return bool(re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d", text, re.ASCII)) and _is_date(text)


def is_day(text: str) -> bool:
    """Return whether a text is a day like ``2031-05-04``."""
    return bool(re.fullmatch(r"\d{4}-\d\d-\d\d", text, re.ASCII)) and _is_date(text)


def _is_date(text: str) -> bool:
    try:
        return 2000 <= datetime.fromisoformat(text).year < 2100
    except ValueError:
        return False


_ADDRESS = re.compile(r"[a-z0-9._+-]+@[a-z0-9-]+(\.[a-z0-9-]+)+")
_PATH = re.compile(r"(/[^/\x00-\x1f]{1,100}){1,10}")


def _is_path(text: str) -> bool:
    return bool(_PATH.fullmatch(text)) and not {".", ".."} & set(text.split("/"))


Line = Annotated[str, ValueFormat("one line of 1 to 200 characters", lambda v: len(v.strip()) > 0 and _is_short(v))]
Words = Annotated[str, ValueFormat("one line of at most 200 characters", lambda v: _is_short(v))]
Moment = Annotated[str, ValueFormat("a date and time like '2031-05-04T09:30'", _is_moment)]
Day = Annotated[str, ValueFormat("a date like '2031-05-04'", is_day)]
Address = Annotated[str, ValueFormat("a mail address like 'ana@home.example', in lower case", _ADDRESS.fullmatch)]
Addresses = Annotated[
    list[str],
    ValueFormat(
        "a list of mail addresses like 'ana@home.example', in lower case, none twice",
        lambda v: all(map(_ADDRESS.fullmatch, v)) and len(set(v)) == len(v),
    ),
]
Path = Annotated[str, ValueFormat("a path like '/Documents/plan.txt'", _is_path)]
FolderPath = Annotated[str, ValueFormat("a folder's path like '/Documents', or '/'", lambda v: v == "/" or _is_path(v))]
Cents = Annotated[int, ValueFormat(f"a whole number of cents from 1 to {MAX_CENTS}", lambda v: 1 <= v <= MAX_CENTS)]
Minutes = Annotated[int, ValueFormat("a whole number of minutes from 5 to 600", lambda v: 5 <= v <= 600)]
Month = Annotated[int, ValueFormat("a whole number from 1 for January to 12 for December", lambda v: 1 <= v <= 12)]
Count = Annotated[int, ValueFormat("a whole number from 1 to 999", lambda v: 1 <= v <= 999)]
Texts = Annotated[
    list[str], ValueFormat("a list of single lines of at most 200 characters", lambda v: all(map(_is_short, v)))
]
Limit = Annotated[int, ValueFormat(f"a whole number from 1 to {PAGE}", lambda v: 1 <= v <= PAGE)]
Offset = Annotated[int, ValueFormat("a whole number from 0", lambda v: 0 <= v < 2**31)]


def _is_short(text: str) -> bool:
    return len(text) <= 200 and not re.search(r"[\x00-\x1f]", text)


@dataclass(frozen=True)
class Parameter:
    """One argument of a call."""

    name: str
    kind: Any  # Any: a type as annotated, one of `_TYPES`
    form: ValueFormat | None
    may_be_none: bool
    is_required: bool
    default: object

    @property
    def description(self) -> str:
        """A description of the valid values."""
        base = self.form.description if self.form else _TYPES[self.kind]
        return f"{base}, or None" if self.may_be_none else base

    def check(self, value: object) -> None:
        """Raise `OfficeError` unless the value is valid."""
        if not (self.may_be_none and value is None) and not self._fits(value):
            raise OfficeError(f"{self.name} must be {self.description}; got {shown(value)}")

    def _fits(self, value: object) -> bool:
        if self.kind == list[str]:
            is_typed = isinstance(value, list) and len(value) <= MAX_LIST and all(map(_is_text, value))
        elif self.kind is str:
            is_typed = _is_text(value)
        else:
            is_typed = type(value) is self.kind  # True is not a valid number
        return is_typed and (self.form is None or bool(self.form.holds(value)))


def _is_text(value: object) -> bool:
    return isinstance(value, str) and len(value) <= MAX_TEXT


@dataclass(frozen=True)
class AppMethod:
    """A public method of an application, for documentation and checks."""

    name: str
    parameters: Mapping[str, Parameter]
    text: str  # description
    example: str  # an example of a result, as JSON

    def check(self, arguments: Mapping[str, object]) -> None:
        """Raise `OfficeError` unless the arguments are complete, known and valid."""
        for name in arguments:
            if name not in self.parameters:
                known = ", ".join(self.parameters) or "none"
                raise OfficeError(f"{self.name} has no argument {shown(name)}; its arguments: {known}")
        for parameter in self.parameters.values():
            if parameter.name in arguments:
                parameter.check(arguments[parameter.name])
            elif parameter.is_required:
                raise OfficeError(f"{self.name} needs the argument {parameter.name}: {parameter.description}")


def call(method: Method) -> Method:
    """Mark a method as public."""
    setattr(method, _MARK, True)
    return method


def calls_of(app: type) -> Mapping[str, AppMethod]:
    """Return the public calls of an application's class, in source order."""
    return _calls_of(app)


@cache
def _calls_of(app: Hashable) -> Mapping[str, AppMethod]:
    methods = {name: member for name, member in vars(app).items() if getattr(member, _MARK, False)}
    return {name: _read(name, method) for name, method in methods.items()}


def shown(value: object) -> str:
    """Return a value in the form used in error messages."""
    try:
        text = repr(value)
    except (ValueError, RecursionError):  # a number of thousands of digits, or deeply nested lists
        text = f"something of type {type(value).__name__}"
    return text if len(text) <= 80 else f"{text[:77]}..."


def page(items: Iterable[object], limit: int, offset: int) -> dict[str, object]:
    """Return one page of results, the total, and the next page's offset (None after the last)."""
    everything = list(items)
    end = offset + limit
    return {
        "items": everything[offset:end],
        "total": len(everything),
        "next_offset": end if end < len(everything) else None,
    }


def missing(what: str, name: str, known: Iterable[str], hint: str) -> OfficeError:
    """Return the error that a name is unknown, with the nearest known name."""
    near = difflib.get_close_matches(name, list(known), n=1, cutoff=0.8)
    return OfficeError(f"there is no {what} {shown(name)}; {f'did you mean {near[0]!r}? ' if near else ''}{hint}")


def _read(name: str, method: Callable[..., object]) -> AppMethod:
    hints = get_type_hints(method, include_extras=True)
    parameters = [p for p in inspect.signature(method).parameters.values() if p.name != "self"]
    text, _, example = (inspect.getdoc(method) or "").partition("\nExample:")
    return AppMethod(
        name=name,
        parameters={p.name: _parameter(p, hints[p.name]) for p in parameters},
        text=text.strip(),
        example=example.strip(),
    )


def _parameter(parameter: inspect.Parameter, hint: Any) -> Parameter:  # Any: a type as annotated
    may_be_none = get_origin(hint) in (Union, UnionType)
    if may_be_none:
        (hint,) = (each for each in get_args(hint) if each is not NoneType)
    form = None
    if get_origin(hint) is Annotated:
        hint, form = get_args(hint)
    is_required = parameter.default is inspect.Parameter.empty
    return Parameter(
        name=parameter.name,
        kind=hint,
        form=form,
        may_be_none=may_be_none,
        is_required=is_required,
        default=None if is_required else parameter.default,
    )
