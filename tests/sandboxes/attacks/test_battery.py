"""Attacks on the kinds of sandbox that work on this machine, and on a sandbox with a hole, which must be noticed.

The default run tries one attack of each class on each kind; the slow run tries all attacks. Sessions have small limits,
and the sizes of the attacks follow them.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

import pytest

from cairn.sandboxes.attacks.attack import Attack, attacks
from cairn.sandboxes.attacks.attack_run import run_battery
from cairn.sandboxes.base import Limits
from cairn.sandboxes.kinds import bubblewrap
from cairn.sandboxes.local import seccomp
from tests.sandboxes.usable import SETTINGS, usable

pytestmark = pytest.mark.rotating(4)

DOCS = Path(__file__).parents[3] / "docs" / "attacks.md"
LIMITS = Limits(
    wall_s=20, cpu_s=0.7, memory_bytes=64 << 20, processes=32, disk_bytes=8 << 20, file_bytes=6 << 20, files=500
)
CLASSES = {
    "processes": "Fork bomb",
    "memory": "Memory bomb of a family",
    "disk": "Disk fill",
    "one file": "Huge file",
    "number of files": "Inode fill",
    "open files": "Descriptors without end",
    "processor time": "CPU burned by a family",
    "time by the clock": "Endless loop that takes no hint",
    "output": "Output flood",
    "folders": "Folder without a bottom",
    "background processes": "Daemon",
    "the supervisor's protocol": "Forged answer",
    "the supervisor's process": "Kill everything",
    "files of the host": "A link to a file of the host",
    "system files": "Write to the system",
    "processes of the host": "Kill the host",
    "environment": "Secrets in the environment",
    "network": "TCP to the host",
    "local sockets": "Abstract socket of the host",
    "user": "Setuid",
    "kernel": "Namespaces",
    "devices": "Devices",
}


def test_there_are_enough_attacks_and_no_two_have_one_name() -> None:
    assert len(attacks()) >= 40
    assert len({attack.name for attack in attacks()}) == len(attacks())
    assert all(attack.name and attack.aim for attack in attacks())


def one_of_each_class() -> list[Attack]:
    return [attack for attack in attacks() if attack.name in CLASSES.values()]


def test_the_classes_cover_every_limit() -> None:
    assert {attack.name for attack in one_of_each_class()} == set(CLASSES.values())
    reached = frozenset[str]().union(*(attack.limits for attack in one_of_each_class()))
    assert reached == frozenset[str]().union(*(attack.limits for attack in attacks()))


@pytest.mark.xdist_group("memory")  # 33 processes
@pytest.mark.parametrize("kind", SETTINGS)
def test_no_attack_of_a_class_succeeds(kind: str) -> None:
    assert_held(kind, one_of_each_class())


@pytest.mark.slow
@pytest.mark.parametrize("kind", SETTINGS)
def test_no_attack_succeeds(kind: str) -> None:
    assert_held(kind, attacks())


def assert_held(kind: str, chosen: Sequence[Attack]) -> None:
    """Try attacks in one session; attacks that the kind does not promise to hold are not tried."""
    trials = list(run_battery(usable(kind), chosen, LIMITS))
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
    trials = list(run_battery(sandbox, chosen, LIMITS))
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
