"""The viewer's benchmark makes a run that has every page."""

from __future__ import annotations

from pathlib import Path

from cairn.benchmarks.viewer import make_run, page_times
from cairn.core.store import RunStore


def test_all_pages_of_the_made_run_are_timed(tmp_path: Path) -> None:
    place = make_run(tmp_path / "run", 1000)
    with RunStore.read(place) as store:
        turns, outcomes = store.rows("SELECT sum(turns), count(DISTINCT success) FROM episodes")[0]
    assert turns >= 1000
    assert outcomes == 2  # there is something to compare
    times = page_times(place, 1)
    assert set(times) >= {"runs", "group", "episode", "graph", "credit", "system"}
    assert all(cpu > 0 and wall > 0 for cpu, wall in times.values())
