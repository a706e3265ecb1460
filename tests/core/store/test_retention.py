"""Retention of a file that grows too large: deleted texts, and records that are always kept."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

from cairn.core.records import Episode
from cairn.core.store import RunStore, read
from tests.core.store.test_store import long_episode

LIMIT = 400_000


def shown(num_bytes: int) -> Episode:
    """Return an episode with a picture."""
    plain = long_episode(10)
    (turn,) = plain.turns
    return replace(plain, turns=(replace(turn, observation=replace(turn.observation, image=os.urandom(num_bytes))),))


def kept(store: RunStore, phase: str) -> list[int]:
    """Return the steps with texts."""
    return [row.step for row in read.episodes(store, phase=phase) if store.body(row.id) is not None]


def used(store: RunStore) -> int:
    return int(store.rows("PRAGMA page_count")[0][0] * store.rows("PRAGMA page_size")[0][0])


def test_evaluations_are_forgotten_after_training_and_the_newest_of_both_never(tmp_path: Path) -> None:
    with RunStore(tmp_path / "run.sqlite", max_bytes=LIMIT) as store:
        for step in range(1, 41):
            store.add(step, {}, [long_episode(1000)])
            store.add(step, {}, [shown(20_000), shown(10_000)], phase="eval")
        assert used(store) < 1.5 * LIMIT
        evaluated, trained = kept(store, "eval"), kept(store, "train")
        assert evaluated[-2:] == [40, 40]
        assert evaluated[0] > 20
        assert trained[-1] == 40
        assert store.rows("SELECT count(*) FROM images") == [(len(evaluated),)]
        assert store.rows("SELECT count(*) FROM turns") == [(120,)]  # it was not necessary to forget any
        reported = [text for (text,) in store.rows("SELECT text FROM events WHERE kind = 'forgotten'")]
        assert reported[0].startswith("texts of 9 training episodes and texts of ")
        assert reported[0].endswith(" episodes of evaluations")
        assert not store.rows("SELECT * FROM events WHERE kind = 'full'")


def test_required_records_are_kept_beyond_the_limit_with_one_warning(tmp_path: Path) -> None:
    with RunStore(tmp_path / "run.sqlite", max_bytes=LIMIT) as store:
        for step in range(1, 5):
            store.add(step, {}, [long_episode(300_000), long_episode(300_000)])
        assert kept(store, "train") == [4, 4]
        assert [row.step for row in read.episodes(store)] == [1, 1, 2, 2, 3, 3, 4, 4]
        assert store.rows("SELECT DISTINCT episode FROM turns") == [(7,), (8,)]
        assert [step for (step,) in store.rows("SELECT step FROM events WHERE kind = 'full'")] == [1]
