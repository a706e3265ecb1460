"""SeeUPO against the worked example: turns that moved by 1.1 (the last), 1.5 and .7 leave M at 1, 1.1, 1.2, .96."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from cairn.core.errors import CairnError
from cairn.core.table import StepTable
from cairn.trainer.credit import advantages


def episodes(
    *of: tuple[float, Sequence[float]], groups: Sequence[int] | None = None, name: str = "change"
) -> StepTable:
    """Return the table of episodes of (score, s of each turn)."""
    rows = [(e, t, s) for e, (_, changes) in enumerate(of) for t, s in enumerate(changes)]
    return StepTable.from_columns(
        group=[0 if groups is None else groups[e] for e, *_ in rows], episode=[e for e, *_ in rows],
        turn=[t for _, t, _ in rows], anchor=range(len(rows)), action=range(len(rows)),
        reward=[of[e][0] * (t == 0) for e, t, _ in rows], channels={name: [s for *_, s in rows]},
    )  # fmt: skip


Z = 0.5 / np.sqrt(0.5)  # scores 1 and 0: +-.5, std (ddof 1) .707107


def test_the_worked_example() -> None:
    # M before the first of four turns: 1.2 x max(.7, .8) = .96
    found = advantages(episodes((1, [9, 0.7, 1.5, 1.1]), (0, [1, 1, 1, 1])), "seeupo")
    np.testing.assert_allclose(found[:4], Z * np.array([0.96, 1.2, 1.1, 1.0]), atol=1e-12)
    np.testing.assert_allclose(found[4:], [-Z] * 4, atol=1e-12)


def test_m_is_clipped_too() -> None:
    # 1.2 x 1.2 = 1.44 is 1.2; .8 x .8 = .64 is .8
    found = advantages(episodes((1, [1, 2.0, 2.0]), (0, [1, 0.1, 0.1])), "seeupo")
    np.testing.assert_allclose(found, Z * np.array([1.2, 1.2, 1, -0.8, -0.8, -1]), atol=1e-12)


def test_bounds_and_channel_are_settings() -> None:
    table = episodes((1, [1, 2.0, 2.0]), (0, [1, 0.1, 0.1]), name="ratio")
    found = advantages(table, "seeupo", channel="ratio", clip_low=0.5, clip_high=1.0)
    np.testing.assert_allclose(found, Z * np.array([2, 2, 1, -0.5, -0.5, -1]), atol=1e-12)


def test_a_turn_is_scaled_over_the_batch_after_each_group_is_centred() -> None:
    # Groups 1, 0 and 4, 0: .5 -.5 2 -2; mean 0, squares 8.5, std (ddof 1) sqrt(8.5 / 3) = 1.683251
    found = advantages(episodes((1, [1]), (0, [1]), (4, [1]), (0, [1]), groups=[0, 0, 1, 1]), "seeupo")
    np.testing.assert_allclose(found, np.array([0.5, -0.5, 2, -2]) / 1.683251, atol=1e-6)


def test_a_turn_is_centred_among_the_episodes_that_have_it() -> None:
    # Scores 1, 0, 0: 2/3, -1/3, -1/3. The second turn has the first two alone: mean 1/6, +-.5, std .707107.
    found = advantages(episodes((1, [1, 1]), (0, [1, 1]), (0, [1])), "seeupo")
    std = np.sqrt((4 + 1 + 1) / 9 / 2)
    np.testing.assert_allclose(found, [2 / 3 / std, Z, -1 / 3 / std, -Z, -1 / 3 / std], atol=1e-12)


def test_large_advantages_are_cut() -> None:
    # One success in 16: 15/16 = .9375, std .25: 3.75, cut to 3; others -.0625 / .25
    found = advantages(episodes((1, [1]), *[(0.0, [1.0])] * 15), "seeupo")
    np.testing.assert_allclose(found, [3.0] + [-0.25] * 15, atol=1e-12)
    assert advantages(episodes((1, [1]), *[(0.0, [1.0])] * 15), "seeupo", limit=10.0)[0] == pytest.approx(3.75)


def test_a_turn_with_hardly_any_spread_is_not_scaled() -> None:
    # +-5e-7, std 7.07e-7
    np.testing.assert_allclose(advantages(episodes((1e-6, [1]), (0, [1])), "seeupo"), [5e-7, -5e-7], atol=1e-12)


def test_a_group_of_one_and_a_group_without_spread_have_no_advantage() -> None:
    np.testing.assert_array_equal(advantages(episodes((3, [1, 1.5])), "seeupo"), [0, 0])
    np.testing.assert_array_equal(advantages(episodes((3, [1, 1.5]), (3, [1, 0.9])), "seeupo"), [0] * 4)


def test_the_channel_is_needed() -> None:
    with pytest.raises(CairnError, match=r"a channel 'change', got \['other'\]"):
        advantages(episodes((1, [1]), name="other"), "seeupo")
