"""A run's file: whether all of it can be read."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from cairn.cli._checks.finding import Finding, refused
from cairn.core.errors import CairnError
from cairn.core.store import RunStore


def stored(file: Path) -> Iterator[Finding]:
    """Yield what reading all of a run's file finds."""
    what = file.parent.name or file.name
    try:
        with RunStore.read(file) as store:
            store.check()
            ((episodes, turns),) = store.rows("SELECT count(*), total(turns) FROM episodes")
    except CairnError as error:
        yield refused("run", what, error)
        return
    found = f"{episodes:,} episodes and {turns:,.0f} turns; all of {file} can be read"
    yield Finding(section="run", what=what, is_well=True, found=found)
