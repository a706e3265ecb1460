"""Signs of collapse by hand, and reactions of runs to them."""

from __future__ import annotations

import math
import random
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file

from cairn.agents.backend import Request
from cairn.agents.backends.hf import HFBackend, HFConfig
from cairn.agents.config import SamplingConfig
from cairn.agents.models.lora import trained
from cairn.core.errors import CairnError, DivergedError
from cairn.core.store import RunStore
from cairn.trainer.callbacks import Callback
from cairn.trainer.guards import GuardConfig, alerts
from cairn.trainer.learner.learner import Learner
from cairn.trainer.train import train
from tests.agents.tiny import policy
from tests.trainer.test_train import DOORS, SMALL, rows, weights

pytestmark = pytest.mark.rotating(3)

STEADY = {"entropy": 0.5, "reply_tokens": 8.0, "invalid": 0.1, "zero_spread": 0.5, "success": 0.2, "grad_norm": 1.0}


def seen(settings: dict[str, Any], **newest: Sequence[float]) -> list[str]:
    """Return the guards that the last of these values alarms, after 20 usual updates."""
    usual = {name: [value + 0.01 * (i % 5) for i in range(20)] for name, value in STEADY.items()}
    series = {
        name: [*values, *newest.get(name, values[: max(map(len, newest.values()))])] for name, values in usual.items()
    }
    found = alerts(GuardConfig.model_validate(settings), lambda name: series.get(name, []))
    return [alarm.guard for alarm in found]


@pytest.mark.parametrize(
    ("newest", "expected"),
    [
        ({"entropy": [0.009] * 3}, ["entropy"]),
        ({"entropy": [0.009] * 2}, []),  # not for long enough
        ({"entropy": [0.009] * 4}, []),  # reported the update before
        ({"entropy": [0.009, 0.02, 0.009]}, []),
        ({"reply_tokens": [33.0] * 3}, ["length"]),  # usual 8.02: 4.1 times
        ({"reply_tokens": [32.0] * 3}, []),
        ({"reply_tokens": [2.0] * 3}, ["length"]),
        ({"reply_tokens": [33.0, 2.0, 33.0]}, []),  # neither longer nor shorter throughout
        ({"invalid": [0.5] * 3}, ["validity"]),
        ({"invalid": [0.5, 0.49, 0.5]}, []),
        ({"zero_spread": [1.0] * 3}, ["spread"]),
        ({"zero_spread": [1.0] * 3, "success": [0.9] * 3}, []),  # all is solved
        ({"grad_norm": [1.7]}, ["spikes"]),  # median 1.02, deviation 1.4826 x 0.01: 45 of them
        ({"grad_norm": [1.3]}, []),  # 18.9 of them
        ({"grad_norm": [1.7, 1.0]}, []),
    ],
)
def test_signs_by_hand(newest: dict[str, Sequence[float]], expected: list[str]) -> None:
    assert seen({}, **newest) == expected


@pytest.mark.parametrize("guard", ["entropy", "length", "validity", "spread", "spikes"])
def test_a_guard_that_is_off_raises_no_alert(guard: str) -> None:
    everything = {"entropy": [0.0] * 3, "reply_tokens": [99.0] * 3, "invalid": [1.0] * 3, "zero_spread": [1.0] * 3}
    newest = {**everything, "grad_norm": [1.0, 1.0, 99.0]}
    assert guard in seen({}, **newest)
    assert guard not in seen({guard: "off"}, **newest)


def test_short_series_raise_no_alert() -> None:
    short = {"grad_norm": [1.0, 1.01, 50.0], "reply_tokens": [1.0, 1.0, 9.0, 9.0, 9.0]}
    assert alerts(GuardConfig(), lambda name: short.get(name, [])) == []


class Notes(Callback):
    def __init__(self) -> None:
        self.notes: list[str] = []

    def on_note(self, text: str) -> None:
        self.notes.append(text)


# Every policy is below this entropy: the guard alarms as soon as its patience allows.
ALARMED = {**SMALL, "guards.min_entropy": 100.0, "guards.patience": 3}


def test_a_warning_is_reported_once_and_changes_nothing(tmp_path: Path) -> None:
    heard = Notes()
    warned = train(DOORS, ALARMED, folder=tmp_path / "warned", callback=heard)
    calm = train(DOORS, SMALL, folder=tmp_path / "calm")
    assert [note for note in heard.notes if "entropy is" in note] == [heard.notes[-1]]
    assert heard.notes[-1].startswith("warning: after update 3: entropy is ")
    assert weights(warned) == weights(calm)


def test_a_collapsed_run_stops_and_names_the_checkpoint_to_resume_from(tmp_path: Path) -> None:
    with pytest.raises(CairnError, match=r"after update 3: entropy is .*checkpoint update-000002 is from before it"):
        train(DOORS, {**ALARMED, "guards.entropy": "stop"}, folder=tmp_path)
    again = train(DOORS, {**ALARMED, "guards.entropy": "off"}, folder=tmp_path, resume=True)
    assert again.is_finished
    assert rows(tmp_path, "SELECT count(DISTINCT step) FROM episodes WHERE phase = 'train'") == [(6,)]


def test_a_run_goes_back_with_other_chance_and_lower_rates_until_it_gives_up(tmp_path: Path) -> None:
    heard = Notes()
    with pytest.raises(CairnError, match="Stopped after update"):
        train(
            DOORS,
            {**ALARMED, "guards.entropy": "roll back", "guards.max_rollbacks": 2},
            folder=tmp_path,
            callback=heard,
        )
    assert [note.split(":")[0] for note in heard.notes if "entropy" in note] == ["going back"] * 2
    with RunStore(tmp_path / "run.sqlite") as store:
        kept = store.meta()["rollbacks"]
        assert [(back["after"], back["to"]) for back in kept] == [(3, 2), (3, 2)]
        assert store.series("rollbacks") == [(1, 0.0), (2, 0.0), (3, 2.0)]


def test_updates_after_a_rollback_differ_from_those_they_replace(tmp_path: Path) -> None:
    def third(folder: Path) -> list[tuple[Any, ...]]:
        return rows(folder, "SELECT task, group_id FROM episodes WHERE step = 3 AND phase = 'train' ORDER BY id")

    settings = {**ALARMED, "guards.entropy": "roll back", "guards.max_rollbacks": 1}
    with pytest.raises(CairnError):
        train(DOORS, settings, folder=tmp_path / "back")
    train(DOORS, {**SMALL, "trainer.updates": 3}, folder=tmp_path / "calm")
    assert [group for _, group in third(tmp_path / "back")] == [group for _, group in third(tmp_path / "calm")]
    assert third(tmp_path / "back") != third(tmp_path / "calm")


@pytest.fixture
def diverges(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Have the gradient of the fourth update lose its numbers once; return the updates at which it did."""
    at: list[int] = []
    plain = Learner.update

    def update(self: Learner, *given: Any, **named: Any) -> dict[str, float]:  # Any: passed on
        if named.get("version") == 3 and not at:
            at.append(named["version"])
            next(iter(trained(self.policy.model).values())).data.fill_(math.nan)
        return plain(self, *given, **named)

    monkeypatch.setattr(Learner, "update", update)
    return at


def test_a_gradient_without_numbers_has_the_run_go_back(diverges: list[int], tmp_path: Path) -> None:
    heard = Notes()
    run = train(DOORS, {**SMALL, "guards.spikes": "roll back"}, folder=tmp_path, callback=heard)
    assert run.is_finished
    assert diverges == [3]
    assert [note for note in heard.notes if note.startswith("going back: after update 3: ")]
    assert all(torch.isfinite(weight).all() for weight in load_file(run.checkpoint / "model.safetensors").values())


def test_divergence_without_a_rollback_stops_the_run_with_a_one_line_error(diverges: list[int], tmp_path: Path) -> None:
    with pytest.raises(CairnError, match=r"^Stopped after update 3: (the norm of the gradient is|.*NaN)[^\n]*$"):
        train(DOORS, SMALL, folder=tmp_path)
    assert train(DOORS, SMALL, folder=tmp_path).is_finished  # from the checkpoint before


def test_weights_without_numbers_stop_an_evaluation_in_one_line() -> None:
    broken = policy(0)
    next(iter(trained(broken.model).values())).data.fill_(math.nan)
    sampled = HFBackend(HFConfig(), broken, SamplingConfig(slots=1))
    sampled.submit(0, Request(prompt_ids=(3, 4), extends=False, choices=None, rng=random.Random(0)))
    with pytest.raises(DivergedError, match="the policy's logits are NaN"):
        sampled.step()
