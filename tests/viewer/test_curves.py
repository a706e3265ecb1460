"""Curves of a run: a picture for every run, however short."""

from __future__ import annotations

from pathlib import Path

import pytest

from cairn.core.store import RunStore
from cairn.viewer.curves import draw_curves

UPDATE = {"success": 0.5, "turns": 3.0, "entropy": 0.7, "kl": 0.01, "anchor_coverage": 0.9, "zero_spread": 0.1}
EVAL = {"eval/success": 0.6, "eval/low": 0.5, "eval/high": 0.7, "eval/turns": 3.5}


@pytest.mark.rotating(3)
@pytest.mark.parametrize("updates", [0, 1, 30])
def test_a_run_has_a_picture(updates: int, tmp_path: Path) -> None:
    with RunStore(tmp_path / "run.sqlite") as store:
        for step in range(updates):
            store.add(step + 1, {**UPDATE, **(EVAL if step % 10 == 0 else {})})
        path = draw_curves(store, tmp_path / "curves.png", "doors")
    assert path.read_bytes().startswith(b"\x89PNG")
    assert path.stat().st_size > 20_000


@pytest.mark.rotating(3)
def test_more_success_is_another_picture(tmp_path: Path) -> None:
    pictures = []
    for success in (0.2, 0.8):
        with RunStore(tmp_path / f"{success}.sqlite") as store:
            store.add(1, UPDATE | EVAL | {"eval/success": success})
            pictures.append(draw_curves(store, tmp_path / "curves.png", "doors").read_bytes())
    assert pictures[0] != pictures[1]
