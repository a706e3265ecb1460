"""Credit's diagnostics by hand."""

from __future__ import annotations

import numpy as np
import pytest

from cairn.trainer.metrics import credit_metrics
from tests.trainer.credit.columns import A, B, C, table


def test_the_worked_example() -> None:
    # anchors: s0 three times, s1 twice, s2, s3, s4 once
    found = credit_metrics(table(A, B, C), np.array([1.0, -1, 0, -1, 1, 0, 0, 0]))
    assert found["anchor_coverage"] == 5 / 8
    assert [found[f"anchor_size/{n}"] for n in (1, 2, 4, 8, 16)] == [3 / 8, 5 / 8, 0, 0, 0]
    assert found["zero_advantage"] == 1 / 2
    # A and C are above the mean, B below: rows A0 and B0 agree, A1 and B1 do not
    assert found["sign_agreement"] == 1 / 2
    assert (found["loops"], found["zero_spread"], found["aliasing"]) == (0, 0, 0)


def test_loops_are_counted_by_episode_and_uniform_groups_by_group() -> None:
    steps = table([("s", 0.0), ("s", 0.0), ("s", 1.0)], [("t", 1.0)], [("u", 0.0)], [("u", 1.0)], groups=[0, 0, 1, 1])
    found = credit_metrics(steps, np.zeros(6))
    assert found["loops"] == 2 / 4
    assert found["zero_spread"] == 1 / 2
    assert found["sign_agreement"] == 0


def test_large_anchors_are_counted_together() -> None:
    found = credit_metrics(table(*([("s", float(i))] for i in range(40))), np.ones(40))
    assert found["anchor_size/16"] == pytest.approx(1)
