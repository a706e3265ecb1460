"""`cairn doctor`: checks of this machine, and the command that fixes each gap.

Every part is tested briefly, in its own thread; parts that were not tested within the time limit are reported.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict
from functools import partial
from pathlib import Path
from queue import Empty, SimpleQueue
from threading import Thread
from typing import TYPE_CHECKING, Annotated

import typer

from cairn.cli._shared.output import Json, show_json
from cairn.cli._shared.progress import progress

if TYPE_CHECKING:
    from rich.console import Console

    from cairn.cli._doctor.finding import Finding

    _Check = Callable[[], Iterable[Finding]]

MARKS = {True: "ok", False: "BROKEN", None: "-"}


def register(app: typer.Typer) -> None:
    """Add the command to the application."""
    app.command()(doctor)


def doctor(
    sandbox: Annotated[bool, typer.Option("--sandbox", help="Try the hostile programs on every sandbox here.")] = False,
    run: Annotated[Path | None, typer.Option(help="Read all of a run's file instead, to find damage.")] = None,
    within: Annotated[float, typer.Option(min=1, help="Seconds, if neither --sandbox nor --run is asked for.")] = 20,
    as_json: Json = False,
) -> None:
    """Test this installation, and print how to fix missing or broken parts.

    Exit status 1 if something is broken.
    """
    asked = _asked(sandbox, run)
    checks, within = (asked, float("inf")) if asked else (_machine(), within)
    with progress("looking at this machine") as advance:
        findings = []
        for finding in examine(checks, within):
            findings.append(finding)
            advance(f"{finding.section}: {finding.what}")
    if as_json:
        show_json([asdict(finding) for finding in findings])
    else:
        from rich.console import Console

        show(findings, Console())
    if any(finding.is_well is False for finding in findings):
        raise typer.Exit(1)


def _asked(sandbox: bool, run: Path | None) -> dict[str, _Check]:
    """Return the requested checks, which have no time limit."""
    from cairn.cli._doctor import plugins
    from cairn.cli._doctor.data import stored
    from cairn.core.store import RunStore

    asked: dict[str, _Check] = {"attacks": plugins.attacks} if sandbox else {}
    if run is not None:
        asked["run"] = partial(stored, RunStore.file(run))
    return asked


def _machine() -> dict[str, _Check]:
    from cairn.cli._doctor import data, machine, packages, plugins

    return {
        "packages": packages.packages,
        "machine": machine.machine,
        "data": data.data,
        "trackers": plugins.trackers,
        "sandboxes": plugins.sandboxes,
        "back ends": plugins.backends,
        "environments": plugins.environments,
    }


def examine(checks: dict[str, _Check], within: float) -> Iterator[Finding]:
    """Yield the findings of the checks within a time limit, and the skipped sections.

    A check that hangs or raises an unexpected error is a finding too: a broken part must not break the doctor.
    """
    until = time.monotonic() + within
    for at, (section, check) in enumerate(checks.items()):
        found: SimpleQueue[Finding | None] = SimpleQueue()
        Thread(target=_look, args=(section, check, found), daemon=True).start()
        try:
            while (finding := found.get(timeout=_left(until))) is not None:
                yield finding
        except Empty:
            yield from (_late(each, within) for each in list(checks)[at:])
            return


def _left(until: float) -> float | None:
    return None if until == float("inf") else max(until - time.monotonic(), 0.0)


def _look(section: str, check: _Check, found: SimpleQueue[Finding | None]) -> None:
    from cairn.cli._doctor.finding import Finding

    try:
        for finding in check():
            found.put(finding)
    except Exception as error:  # noqa: BLE001  (any exception of a broken installation becomes a finding)
        message = f"{type(error).__name__}: {error}"
        found.put(Finding(section=section, what=section, is_well=False, found=message, mend="pip check"))
    found.put(None)


def _late(section: str, within: float) -> Finding:
    from cairn.cli._doctor.finding import Finding

    mend = f"cairn doctor --within {3 * within:.0f}"
    return Finding(section=section, what="the rest", is_well=None, found="not looked at: no time was left", mend=mend)


def show(findings: Iterable[Finding], console: Console) -> None:
    """Print a list under each section.

    Commands have their own lines, so that they can be copied.
    """
    from rich.padding import Padding
    from rich.table import Table
    from rich.text import Text

    section = ""
    for finding in findings:
        if finding.section != section:
            section = finding.section
            console.print(Text(f"\n{section}", style="bold"))
        line = Table.grid(padding=(0, 2, 0, 0), expand=True)
        line.add_column(width=6)
        line.add_column(width=20, overflow="fold")
        line.add_column(ratio=1, overflow="fold")
        line.add_row(MARKS[finding.is_well], Text(finding.what), Text(finding.found))
        console.print(Padding(line, (0, 0, 0, 2)))
        if finding.mend:
            console.print(Text(f"{'':10}$ {finding.mend}", style="cyan"), soft_wrap=True)
