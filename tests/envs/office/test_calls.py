"""Properties of the calls, for every one by discovery: arguments are checked, results are JSON and as documented."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from cairn.envs.office.calls import MAX_LIST, MAX_TEXT, PAGE, AppMethod, OfficeError, calls_of, page
from cairn.envs.office.documentation import APPS, documentation
from cairn.envs.office.world import DESK, MAX_IDS
from tests.envs.office.desk import desk
from tests.envs.office.refusals import refused
from tests.envs.office.tiny import SAM, ZOE, tiny

pytestmark = pytest.mark.rotating(4)

CALLS = [(app.name, call) for app in DESK for call in calls_of(app).values()]
each_call = pytest.mark.parametrize(("app", "call"), CALLS, ids=[f"{app}.{call.name}" for app, call in CALLS])
TOLD = [(app.name, call) for app in APPS for call in calls_of(app).values()]  # to programs
each_told = pytest.mark.parametrize(("app", "call"), TOLD, ids=[f"{app}.{call.name}" for app, call in TOLD])

# Arguments that work in the tiny office, where those of `_usual` do not.
SPECIAL: dict[tuple[str, str], dict[str, object]] = {
    ("mail", "send_draft"): {"mail_id": "m4"},
    ("mail", "send"): {"to": [SAM], "subject": "A", "body": "B"},
    ("mail", "attachment"): {"mail_id": "m1", "name": "offer.txt"},
    ("mail", "add_label"): {"mail_id": "m1", "label": "urgent"},
    ("calendar", "respond"): {"event_id": "e2", "response": "declined"},
    ("files", "write"): {"path": "/a.txt", "text": "A"},
    ("files", "make_folder"): {"path": "/A"},
    ("files", "unshare"): {"path": "/Docs/plan.txt", "address": SAM},
    ("contacts", "create_group"): {"group": "New"},
    ("payments", "cancel_request"): {"request_id": "r2"},
    ("issues", "create_milestone"): {"project": "Heron", "name": "Winter", "due": "2031-12-01"},
    ("issues", "update_milestone"): {"project": "Heron", "name": "Spring"},
    ("sheets", "create_sheet"): {"name": "New", "columns": ["A"], "kinds": ["text"]},
    ("settings", "invite"): {"address": "bo@home.example", "name": "Bo", "role": "viewer"},
    ("settings", "create_rule"): {"name": "New", "event": "new user", "channel": "mail", "target": ZOE},
    ("settings", "update_rule"): {"name": "Tell me"},
    ("settings", "delete_rule"): {"name": "Tell me"},
    ("settings", "change_site"): {"names": ["Currency"], "values": ["GBP"]},
    ("settings", "switch_backup"): {"name": "Nightly", "on": False},
    ("settings", "renew_key"): {
        "name": "Robot",
        "reason": "key was lost",
        "grace_days": 3,
        "expires": "2032-01-01",
    },
    ("settings", "revoke_key"): {"name": "Robot"},
}
_USUAL: dict[str, object] = {
    "mail_id": "m1", "thread_id": "t1", "to": [ZOE], "subject": "A", "body": "B", "label": "home", "folder": "archive",
    "read": True, "event_id": "e1", "first": "2031-05-06", "last": "2031-05-06", "query": "", "title": "A",
    "start": "2031-05-06T09:00", "minutes": 30, "attendees": [SAM], "day": "2031-05-06", "address": ZOE,
    "path": "/Docs/plan.txt", "text": "A", "contact_id": "c2", "name": "A", "emails": [ZOE], "keep_id": "c1",
    "other_id": "c2", "group": "Choir", "account_id": "a1", "payee_id": "p1", "amount": 5, "from_account_id": "a1",
    "to_account_id": "a2", "request_id": "r1", "reference": "G-9",
    "project": "Heron", "issue_id": "i1", "sheet": "Costs", "cells": ["Glue", "1", ""], "row_id": "w1", "kind": "day",
    "part": "mail", "rhythm": "daily", "hour": "03:00", "place": "local disk", "keep_days": 7,
}  # fmt: skip


def _usual(app: str, call: AppMethod) -> dict[str, object]:
    """Arguments with which a call works: all that it needs."""
    if (app, call.name) in SPECIAL:
        return dict(SPECIAL[app, call.name])
    usual = {name: _USUAL[name] for name, parameter in call.parameters.items() if parameter.is_required}
    if app == "files":
        usual |= {"folder": "/Docs"} if "folder" in usual else {}
        usual |= {"to": "/Docs/new.txt"} if "to" in usual else {}
    return usual


def _office() -> Any:
    world = desk()
    world.call("files", "share", {"path": "/Docs/plan.txt", "address": SAM})
    return world


@each_call
def test_a_call_works_and_returns_json_as_its_example_shows(app: str, call: AppMethod) -> None:
    world = _office()
    result = world.call(app, call.name, _usual(app, call))
    assert json.loads(json.dumps(result)) == result
    example = json.loads(call.example)
    if isinstance(example.get("items"), list):
        assert len(example["items"]) in (1, 2)
        assert _shape(result["items"][0]) == _shape(example["items"][0])
    assert _shape(result) == _shape(example)
    assert (world.log[-1].app, world.log[-1].name, world.log[-1].ok) == (app, call.name, True)


def _shape(value: object) -> object:
    """The names and types of a result; of lists only that they are some, and a page's end may be None."""
    if isinstance(value, dict):
        return {
            name: _shape(each) for name, each in value.items() if name not in ("next_offset", "size", "modified_at")
        }
    return type(value).__name__


@each_call
def test_an_unknown_or_missing_argument_is_refused_with_the_right_ones(app: str, call: AppMethod) -> None:
    usual = _usual(app, call)
    refused(_office(), app, call.name, f"{call.name} has no argument 'nonsense'", **usual, nonsense=1)
    for name in usual:
        if call.parameters[name].is_required:
            rest = {other: value for other, value in usual.items() if other != name}
            refused(_office(), app, call.name, f"needs the argument {name}: ", **rest)


def _wrong(kind: object, may_be_none: bool) -> Iterator[object]:
    everything: list[object] = ["text", 7, True, 1.5, ["text"], [7], {"a": 1}, None, [None]]
    for value in everything:
        is_right = value == ["text"] if kind == list[str] else type(value) is kind
        if not is_right and not (may_be_none and value is None):
            yield value


@each_call
def test_a_value_of_another_type_is_rejected_with_the_expected_type(app: str, call: AppMethod) -> None:
    for name, parameter in call.parameters.items():
        for value in _wrong(parameter.kind, parameter.may_be_none):
            expected = f"{name} must be {parameter.description}; got "
            refused(_office(), app, call.name, expected, **{**_usual(app, call), name: value})


@each_call
def test_endless_texts_and_lists_are_refused(app: str, call: AppMethod) -> None:
    for name, parameter in call.parameters.items():
        if parameter.kind is str:
            refused(_office(), app, call.name, f"{name} must be ", **{**_usual(app, call), name: "x" * (MAX_TEXT + 1)})
        if parameter.kind == list[str]:
            many = [f"a{number}@home.example" for number in range(MAX_LIST + 1)]
            refused(_office(), app, call.name, f"{name} must be ", **{**_usual(app, call), name: many})


def _nested(depth: int) -> list[object]:
    inner: list[object] = []
    for _ in range(depth):
        inner = [inner]
    return inner


HOSTILE = (10**5_000, -1, float("nan"), _nested(5_000), "\ud800", "\x00\n", "../..", "{}%s" * 40)


@each_call
def test_hostile_values_are_refused_or_kept_and_never_break_the_state(app: str, call: AppMethod) -> None:
    for name in call.parameters:
        for value in HOSTILE:
            world = _office()
            try:
                world.call(app, call.name, {**_usual(app, call), name: value})
            except OfficeError as error:
                assert len(str(error)) < 1_000  # noqa: PT017  (most, but not all, are refused)
            json.loads(world.state())


@each_call
def test_lists_are_returned_in_pages(app: str, call: AppMethod) -> None:
    if "limit" not in call.parameters:
        assert "next_offset" not in call.example
        return
    usual = _usual(app, call)
    refused(_office(), app, call.name, f"a whole number from 1 to {PAGE}", **usual, limit=0)
    refused(_office(), app, call.name, f"a whole number from 1 to {PAGE}", **usual, limit=PAGE + 1)
    refused(_office(), app, call.name, "a whole number from 0", **usual, offset=-1)
    whole = _office().call(app, call.name, usual)
    single: list[object] = []
    offset: int | None = 0
    while offset is not None:
        part = _office().call(app, call.name, {**usual, "limit": 1, "offset": offset})
        assert part["total"] == whole["total"]
        single += part["items"]
        offset = part["next_offset"]
    assert single == whole["items"]


def test_a_page_ends_where_nothing_is_left() -> None:
    assert page("abcde", 2, 0) == {"items": ["a", "b"], "total": 5, "next_offset": 2}
    assert page("abcde", 2, 3) == {"items": ["d", "e"], "total": 5, "next_offset": None}
    assert page("", 2, 0) == {"items": [], "total": 0, "next_offset": None}


def test_unknown_applications_and_calls_are_rejected_with_a_suggestion() -> None:
    refused(tiny(), "mails", "get", "no application 'mails'; did you mean 'mail'?")
    refused(tiny(), "mail", "serch", "no call mail 'serch'; did you mean 'search'?")
    refused(tiny(), "mail", "_find", "no call mail '_find'", mail_id="m1")
    refused(tiny(), "mail", "perform", "no call mail 'perform'")
    refused(tiny(), "payments", "left_today", "no call payments 'left_today'")


def test_an_office_that_is_full_refuses_everything() -> None:
    world = tiny()
    world.num_ids = MAX_IDS - 1
    world.call("contacts", "create", {"name": "A", "emails": [SAM]})
    refused(world, "contacts", "create", "the office is full", name="A", emails=[SAM])


def test_the_overview_names_all_applications_and_the_next_steps() -> None:
    text = documentation()
    for app in APPS:
        assert f"  {app.name}" in text
    for word in ("next_offset", "OfficeError", "office.docs(app, name)", "cents"):
        assert word in text
    assert "{{" not in text


@each_told
def test_a_call_is_documented_with_arguments_and_example(app: str, call: AppMethod) -> None:
    assert f"  {call.name}(" in documentation(app)
    text = documentation(app, call.name)
    assert text.startswith(f"office.{app}.{call.name}(")
    assert call.text in text
    for name, parameter in call.parameters.items():
        assert f"  {name}: {parameter.description}" in text
    assert json.loads(text.splitlines()[-1]) == json.loads(call.example)


def test_unknown_documentation_is_refused() -> None:
    with pytest.raises(OfficeError, match="did you mean 'mail'"):
        documentation("mails")
    with pytest.raises(OfficeError, match="did you mean 'search'"):
        documentation("mail", "serch")
