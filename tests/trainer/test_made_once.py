"""A run makes its estimator, loss and back end once, and reads a context's settings once."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from cairn.core.plugins import ExtensionPoint
from cairn.trainer.callbacks import Callback
from cairn.trainer.train import train
from tests.trainer.counted import MADE
from tests.trainer.test_train import DOORS, SMALL


def test_plugins_are_made_once_a_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    loaded: Counter[str] = Counter()
    load = ExtensionPoint.load

    def counting(point: ExtensionPoint, name: str) -> object:
        loaded[point.name] += 1
        return load(point, name)

    updates: list[Counter[str]] = []

    class Counts(Callback):
        def on_update(self, update: int, metrics: object) -> None:
            updates.append(loaded.copy())

    monkeypatch.setattr(ExtensionPoint, "load", counting)
    MADE.clear()
    chosen = {
        "credit.method": "tests.trainer.counted:CREDIT",
        "loss.method": "tests.trainer.counted:LOSS",
        "agent.context.method": "tests.trainer.counted:CONTEXT",
        "sampling.method": "tests.trainer.counted:BACKEND",
    }
    run = train(DOORS, {**SMALL, **chosen}, folder=tmp_path, callback=Counts())
    assert len(updates) == 6
    assert updates[0] == updates[-1]  # nothing is loaded again between updates
    assert run.reports.keys() == {0, 6}
    assert (MADE["credit"], MADE["loss"]) == (1, 1)
    assert MADE["backend"] == 1 + len(run.reports)  # each evaluation closes its own, which frees its cache
    assert MADE["context"] == 12 + 6 * 16 + 2 * 8  # one history per episode: demonstrations, updates, evaluations
