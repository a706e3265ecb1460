"""Every attack on every kind of sandbox that works here; and a sandbox with a hole, which the battery must notice."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from cairn.sandboxes import seccomp
from cairn.sandboxes.battery.attack import attacks
from cairn.sandboxes.battery.trial import run_battery
from cairn.sandboxes.kinds import bubblewrap
from tests.sandboxes.usable import SETTINGS, usable

DOCS = Path(__file__).parents[3] / "docs" / "attacks.md"
HALVES = ("first", "second")


def test_there_are_enough_attacks_and_no_two_have_one_name() -> None:
    assert len(attacks()) >= 40
    assert len({attack.name for attack in attacks()}) == len(attacks())
    assert all(attack.name and attack.aim for attack in attacks())


@pytest.mark.parametrize("half", HALVES)
@pytest.mark.parametrize("kind", SETTINGS)
def test_no_attack_succeeds(kind: str, half: str) -> None:
    """In one session after another, as between episodes; what nothing promises to hold is not tried."""
    chosen = attacks()[HALVES.index(half) :: 2]
    trials = list(run_battery(usable(kind), chosen))
    assert [f"{trial.attack.name}: {trial.problem}" for trial in trials if trial.problem is not None] == []
    assert len(trials) == sum(kind not in attack.open_to for attack in chosen)


@pytest.mark.parametrize(
    ("hole", "noticed"),
    [
        ("no seccomp", {"Namespaces", "System V memory", "Kernel keys"}),
        ("the host's network", {"TCP to the host"}),
        ("the host's files", {"A file of the host", "A link to a file of the host", "Socket file of the host"}),
    ],
)
def test_a_hole_is_noticed(monkeypatch: pytest.MonkeyPatch, hole: str, noticed: set[str]) -> None:
    sandbox = usable("bubblewrap")
    whole = bubblewrap._command
    if hole == "no seccomp":
        monkeypatch.setattr(seccomp, "program", lambda **_: seccomp._op(seccomp._RETURN, seccomp._ALLOW))
    elif hole == "the host's network":
        monkeypatch.setattr(seccomp, "program", lambda **_: seccomp._op(seccomp._RETURN, seccomp._ALLOW))
        monkeypatch.setattr(bubblewrap, "_command", lambda *a: _with(whole(*a), "--die-with-parent", "--share-net"))
    else:
        bind = ("--bind", "/tmp", "/tmp", "--bind", "/tmp", "/var/tmp")
        monkeypatch.setattr(bubblewrap, "_command", lambda *a: _with(whole(*a), "--remount-ro", *bind))
    chosen = [attack for attack in attacks() if attack.name in noticed]
    assert len(chosen) == len(noticed)
    trials = list(run_battery(sandbox, chosen))
    assert {trial.attack.name for trial in trials if trial.problem is not None} & noticed


def _with(command: object, before: str, *more: str) -> list[str]:
    """Return a launcher's command with more options before one of its own."""
    parts = list(command)  # type: ignore[call-overload]  # an iterator of text
    place = parts.index(before)
    return [*parts[:place], *more, *parts[place:]]


def test_the_docs_have_every_attack_and_who_holds_it() -> None:
    """The page is written by `cairn plugins --attacks`; `make check` compares it."""
    rows = re.findall(r"^\| ([^|]+) \| ([^|]+) \|", DOCS.read_text(), re.MULTILINE)
    assert {name for name, _ in rows} >= {attack.name for attack in attacks()}
