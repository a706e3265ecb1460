"""The viewer's benchmark makes a run that has every page."""

from __future__ import annotations

import random
from pathlib import Path

from cairn.benchmarks.viewer import evaluation_times, make_run, page_times, play
from cairn.benchmarks.viewer._evaluation import make_evaluation
from cairn.core.store import RunStore


def test_all_pages_of_the_made_run_are_timed(tmp_path: Path) -> None:
    played = play(random.Random(0))
    place = make_run(tmp_path / "run", 1000, played)
    with RunStore.read(place) as store:
        turns, outcomes = store.rows("SELECT sum(turns), count(DISTINCT success) FROM episodes")[0]
    assert turns >= 1000
    assert outcomes == 2  # there is something to compare
    times = page_times(place, 1)
    assert set(times) >= {"runs", "group", "episode", "graph", "credit", "system"}
    assert all(cpu > 0 and wall > 0 for cpu, wall in times.values())
    evaluation = make_evaluation(tmp_path / "evaluation", 1000, played)
    with RunStore.read(evaluation) as store:
        assert store.rows("SELECT sum(turns) >= 1000, count(DISTINCT task) = count(*) FROM episodes")[0] == (1, 1)
    times = evaluation_times(evaluation, 1)
    assert set(times) == {"evaluations", "evaluation"}
    assert all(cpu > 0 and wall > 0 for cpu, wall in times.values())
