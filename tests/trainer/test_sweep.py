"""Comparing variants over seeds: pairing by seed, intervals, and no run done twice."""

from __future__ import annotations

import math
import re
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from cairn.core.errors import CairnError, ConfigError
from cairn.trainer.callbacks import Callback
from cairn.trainer.sweep import half_width, sweep

TINY: dict[str, Any] = {
    "name": "tiny",
    "env": {"id": "examples.doors:Doors"},
    "model": {"preset": "qwen3-nano", "vocab_size": 300},
    "trainer": {"updates": 1, "groups": 2, "group_size": 2, "threads": 1},
    "eval": {"tasks": 6},
}


def test_half_width_by_hand() -> None:
    # mean 2, deviation sqrt((1 + 0 + 1) / 2) = 1, t(0.975, 2) = 4.302653, over sqrt(3): 2.484138
    assert half_width([1.0, 2.0, 3.0]) == pytest.approx(2.484138, abs=1e-6)
    assert math.isnan(half_width([1.0]))


@pytest.mark.rotating(3)
def test_variants_of_a_seed_share_their_start_and_finished_runs_are_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = sweep(TINY, "credit.method", ["gigpo", "grpo"], 2, tmp_path)
    assert [v.value for v in first] == ["gigpo", "grpo"]
    assert first[0].starts == first[1].starts
    assert first[0].difference == 0.0
    expected = sum(b - a for a, b in zip(first[0].ends, first[1].ends, strict=True)) / 2
    assert first[1].difference == pytest.approx(expected)
    runs = ["gigpo-seed0", "gigpo-seed1", "grpo-seed0", "grpo-seed1"]
    assert sorted(p.name for p in tmp_path.iterdir()) == [*runs, "start-seed0", "start-seed1"]

    monkeypatch.setattr("cairn.trainer.train.Trainer._update", lambda *_: pytest.fail("a finished run was repeated"))
    assert sweep(TINY, "credit.method", ["gigpo", "grpo"], 2, tmp_path) == first


class Passes(Callback):
    """Counts warm starts."""

    def __init__(self) -> None:
        self.count = 0

    def on_sft_epoch(self, epoch: int, metrics: Mapping[str, float]) -> None:
        self.count += 1


@pytest.mark.rotating(3)
@pytest.mark.parametrize(
    ("key", "values", "warm_starts"),
    [("credit.method", ["gigpo", "grpo"], 1), ("imitation.entropy_weight", ["0", "0.5"], 2)],
)
def test_a_warm_start_is_made_once_per_seed_unless_the_sweep_varies_it(
    key: str, values: list[str], warm_starts: int, tmp_path: Path
) -> None:
    config = {**TINY, "imitation": {"episodes": 4, "oracle": "reader", "batch": 2}}
    passes = Passes()
    variants = sweep(config, key, values, 1, tmp_path, callback=passes)
    assert passes.count == warm_starts
    assert [v.value for v in variants] == values


def test_runs_with_other_settings_are_not_taken_for_these(tmp_path: Path) -> None:
    sweep(TINY, "credit.method", ["gigpo"], 1, tmp_path)
    with pytest.raises(ConfigError, match="gigpo-seed0' holds a run with other settings"):
        sweep(TINY, "credit.method", ["gigpo"], 1, tmp_path, overrides={"trainer.group_size": 3})
    shutil.rmtree(tmp_path / "gigpo-seed0")  # as the message says; the warm start beside it is of other settings too
    with pytest.raises(ConfigError, match="start-seed0' holds a run with other settings"):
        sweep(TINY, "credit.method", ["gigpo"], 1, tmp_path, overrides={"trainer.group_size": 3})


def test_a_variant_that_fails_does_not_end_the_sweep(tmp_path: Path) -> None:
    """At this learning rate the weights are not finite after a step."""
    config = {**TINY, "imitation": {"episodes": 4, "oracle": "reader", "batch": 2}}
    fine, wild = sweep(config, "imitation.optimizer.lr", ["0.001", "1e38"], 2, tmp_path)
    assert (len(fine.ends), fine.failed) == (2, ())
    assert wild.ends == ()
    assert math.isnan(wild.mean)
    assert math.isnan(wild.difference)
    assert [text.partition(":")[0] for text in wild.failed] == ["seed 0", "seed 1"]
    assert all(re.search("logits are NaN|norm of the gradient is", text) for text in wild.failed)
    with pytest.raises(CairnError, match=r"No run of the sweep came to its end\. The first, 1e38, seed 0: "):
        sweep(config, "imitation.optimizer.lr", ["1e38"], 1, tmp_path / "alone")
