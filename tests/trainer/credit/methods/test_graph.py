"""The free combination of slots: each choice of each slot by hand, mostly on the golden table with gamma 0.5.

States of E2 with gamma 0.5: fixed point u 1/3, w 1/9, s0 7/54; visit means u 1/3, w 0, s0 1/6; best u 1/2, w 1/4,
s0 1/4.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from cairn.core.errors import CairnError
from cairn.core.table import Floats, StepTable
from cairn.trainer.credit import advantages
from tests.trainer.credit.columns import outcomes
from tests.trainer.credit.golden import e2, e2_rows, paths


def graph(table: StepTable, **slots: Any) -> Floats:
    return advantages(table, "graph", **{"gamma": 0.5, **slots})


@pytest.mark.parametrize(
    ("slots", "rows"),
    [
        ({}, [11 / 54, 2 / 3, -1 / 54, 0, 2 / 9, -1 / 3]),
        ({"depth": 0}, [1 / 6, 2 / 3, -1 / 6, 0, 1 / 3, -1 / 3]),
        ({"depth": 1}, [2 / 9, 2 / 3, -1 / 36, 0, 1 / 4, -1 / 3]),  # V: u 1/3, w 1/12, s0 1/9
        ({"backup": "visit_mean"}, [1 / 6, 2 / 3, -1 / 6, 0, 1 / 3, -1 / 3]),
        ({"backup": "best"}, [1 / 4, 1 / 2, 0, 0, 1 / 4, -1 / 2]),
        ({"backup": "distance"}, [1 / 4, 1 / 2, 0, 0, 1 / 4, -1 / 2]),
        ({"backup": "none"}, [0, 1, 0, 0, 0, 0]),
        # one pseudo-visit worth (1/4 + 0 + 1/4) / 3 = 1/6: u 7/24, w 1/8, s0 25/192
        ({"prior_visits": 1.0}, [31 / 192, 17 / 24, -1 / 192, 0, 1 / 6, -7 / 24]),
    ],
)
def test_value_backups_seen_through_differences(slots: dict[str, Any], rows: list[float]) -> None:
    np.testing.assert_allclose(graph(e2(), credit="difference", **slots), e2_rows(*rows), atol=1e-12)


def test_distances_do_not_depend_on_the_reward_of_a_success() -> None:
    # V(u) is 1/2 by distance and 10/2 by reward; the step to success lands at 10
    assert graph(e2(10.0), credit="difference", backup="distance")[1] == pytest.approx(9.5)
    assert graph(e2(10.0), credit="difference", backup="best")[1] == pytest.approx(5.0)


@pytest.mark.parametrize(
    ("slots", "rows"),
    [
        ({"credit": "return"}, [1 / 4, 1 / 2, 0, 0, 0, 0]),
        ({"credit": "td"}, [1 / 27, 1 / 6, -2 / 27, -1 / 18, 1 / 18, -1 / 3]),
        ({"credit": "q_minus_v"}, [1 / 27, 1 / 6, -2 / 27, -1 / 18, 1 / 18, -1 / 3]),
        ({"credit": "gae", "lam": 0.0}, [1 / 27, 1 / 6, -2 / 27, -1 / 18, 1 / 18, -1 / 3]),
        # rate 1/4: 2.2: 1/18 - 1/12 = -1/36; 2.1: -1/18 - 1/144 = -1/16; 2.0: -2/27 - 1/64; 1.0: 1/27 + 1/24
        ({"credit": "gae", "lam": 0.5}, [17 / 216, 1 / 6, -155 / 1728, -1 / 16, -1 / 36, -1 / 3]),
        # the outcome minus V
        ({"credit": "gae", "lam": 1.0}, [1 / 4 - 7 / 54, 1 / 6, -7 / 54, -1 / 9, -1 / 9, -1 / 3]),
    ],
)
def test_credits(slots: dict[str, Any], rows: list[float]) -> None:
    np.testing.assert_allclose(graph(e2(), **slots), e2_rows(*rows), atol=1e-12)


def test_q_is_the_mean_over_the_next_states_of_an_action() -> None:
    # V = 1/6, Q(a) = 1/4: the two steps differ as temporal differences only
    table = paths("s a +", "s a -", "s b -")
    np.testing.assert_allclose(graph(table), [1 / 12, 1 / 12, -1 / 6], atol=1e-12)
    np.testing.assert_allclose(graph(table, credit="td"), [1 / 3, -1 / 6, -1 / 6], atol=1e-12)


# The outcomes of E2, 1/4 1/2 | 0 0 0 0 | 1/4 1/2, in two groups; the second group's successes earn twice as much.
TWO = paths(
    "s0 a u c +", "s0 b w n w d u e -", "s0 a u c +", "s0 a u c +", "s0 b w n w d u e -", "s0 a u c +",
    groups=[0, 0, 0, 1, 1, 1],
)  # fmt: skip
TWO.reward[8:] *= 2


@pytest.mark.parametrize(
    ("slots", "first"),
    [
        ({"normalize": "none"}, [1 / 4, 1 / 2, 0, 0, 0, 0]),
        ({"normalize": "centre"}, [1 / 12, 1 / 6, -1 / 6, 0, 0, -1 / 3]),
        # s0: 1/4, 0, 1/4: std 0.144338; u: 0.288675
        ({"normalize": "std"}, [0.577350, 0.577350, -1.154701, 0, 0, -1.154701]),
        ({"normalize": "std", "ddof": 0}, [0.707107, 0.707107, -1.414214, 0, 0, -1.414214]),
        ({"normalize": "std", "epsilon": 1.0}, [0.072822, 0.129332, -0.145644, 0, 0, -0.258664]),
        # root mean squares: s0 0.204124, u 0.408248, w 0, which is below the floor
        ({"normalize": "floor"}, [1.224745, 1.224745, 0, 0, 0, 0]),
        ({"normalize": "floor", "floor": 0.5}, [1 / 2, 1, 0, 0, 0, 0]),
        # the group's mean is 1.5 / 8
        ({"normalize": "centre", "within": "group"}, [0.0625, 0.3125, -0.1875, -0.1875, -0.1875, -0.1875]),
        # squares sum to 0.34375: / 7, std 0.221601
        ({"normalize": "std", "within": "group"}, [0.282038, 1.410192, *[-0.846115] * 4]),
        # root mean square sqrt(0.625 / 8) = 0.279508
        ({"normalize": "floor", "within": "group"}, [0.894427, 1.788854, 0, 0, 0, 0]),
        # the mean over both groups is (1.5 + 3) / 16
        ({"normalize": "centre", "within": "batch"}, [-0.03125, 0.21875, *[-0.28125] * 4]),
    ],
)
def test_normalizers(slots: dict[str, Any], first: list[float]) -> None:
    slots = {"epsilon": 1e-9, **slots}
    found = graph(TWO, credit="return", **slots)
    np.testing.assert_allclose(found[:8], e2_rows(*first), atol=2e-6)


@pytest.mark.parametrize("normalize", ["centre", "std", "floor"])
@pytest.mark.parametrize("within", ["state", "group", "batch"])
def test_the_second_group_counts_in_the_batch_only(normalize: str, within: str) -> None:
    alone = graph(e2(), credit="return", normalize=normalize, within=within)
    together = graph(TWO, credit="return", normalize=normalize, within=within)
    assert np.allclose(together[:8], alone, atol=1e-9) == (within != "batch")


@pytest.mark.parametrize(
    ("key", "rows"),
    [
        ("anchor", [1 / 12, 1 / 6, -1 / 6, 0, 0, -1 / 3]),
        ("turn", [1 / 12, 1 / 6, -1 / 6, -1 / 3, 0, 0]),  # turn 1: 1/2, 0, 1/2
        ("prompt", [0.0625, 0.3125, -0.1875, -0.1875, -0.1875, -0.1875]),
        ("observations(2)", [1 / 12, 0, -1 / 6, 0, 0, 0]),  # u after s0, w after s0, w after w, u after w
    ],
)
def test_keys_select_the_compared_steps(key: str, rows: list[float]) -> None:
    found = graph(e2(), key=key, credit="return", normalize="centre")
    np.testing.assert_allclose(found, e2_rows(*rows), atol=1e-12)


def test_keys_select_the_states_that_share_a_value() -> None:
    # One state, V: 8 V = 0.5 (2 + 6 V - 0): of eight steps two succeed, one fails, five stay: V = 1 / 5.5
    value = 1.0 / (8 - 2.5)
    found = graph(e2(), key="prompt", credit="td")
    stay, win, lose = 0.5 * value - value, 0.5 - value, -value
    np.testing.assert_allclose(found, e2_rows(stay, win, stay, stay, stay, lose), atol=1e-12)


def test_an_unknown_key_is_refused() -> None:
    with pytest.raises(CairnError, match="Unknown state key 'state'"):
        graph(e2(), key="state")


@pytest.mark.parametrize(("timeout", "rows"), [("failure", [1 / 8, 0, -1 / 8]), ("open", [0, 0, 0])])
def test_a_timeout_is_a_failure_or_leads_to_the_state_that_it_stopped_in(timeout: str, rows: list[float]) -> None:
    # V(u) = 1/2: a is worth 1/4; b nothing, or as much
    np.testing.assert_allclose(graph(paths("s a u c +", "s b u"), timeout=timeout), rows, atol=1e-12)


def test_the_terms_add_up_with_their_weights() -> None:
    # episodes 1, 0, 1: 1/3 and -2/3 from the mean
    step = np.array(e2_rows(1 / 27, 1 / 6, -2 / 27, -1 / 18, 1 / 18, -1 / 3))
    episode = np.array(e2_rows(1, 1, -2, -2, -2, -2)) / 3
    np.testing.assert_allclose(graph(e2()), step, atol=1e-12)
    np.testing.assert_allclose(graph(e2(), step_weight=2.0, episode_weight=3.0), 2 * step + 3 * episode, atol=1e-12)
    # std of 1, 0, 1: 0.577350
    found = graph(e2(), step_weight=0.0, episode_weight=1.0, episode_normalize="std")
    np.testing.assert_allclose(found, episode / 0.577351, atol=1e-6)


@pytest.mark.parametrize(
    ("slots", "rows"),
    [
        ({"gamma": 0.98}, [0.008369, 0.326667, -0.016739, -0.012554, 0.012554, -0.653333]),  # CRBC, Q - V
        (
            {"gamma": 0.98, "normalize": "floor"},  # CRBC
            [0.083695, 0.707107, -0.167390, -0.125542, 0.125542, -1.414214],
        ),
        (
            {"gamma": 0.99, "credit": "td"},  # GRAFT
            [0.004313, 0.33, -0.008626, -0.006469, 0.006469, -0.66],
        ),
        (
            {"gamma": 0.9, "backup": "best", "credit": "difference", "normalize": "centre"},  # RewardFlow
            [0.03, 0.333333, -0.06, -0.045, 0.045, -0.666667],
        ),
        (
            {"gamma": 0.95, "credit": "return", "normalize": "std"},  # GiGPO
            [0.577349, 0.577349, -1.154698, 0, 0, -1.154699],
        ),
        (
            {"gamma": 0.95, "credit": "return", "normalize": "std", "ddof": 0},  # HGPO without history
            [0.707105, 0.707105, -1.414210, 0, 0, -1.414210],
        ),
    ],
)
def test_published_members_are_points_of_the_space(slots: dict[str, Any], rows: list[float]) -> None:
    np.testing.assert_allclose(advantages(e2(), "graph", **slots), e2_rows(*rows), atol=1e-5)


@pytest.mark.parametrize(("lam", "rows"), [
    (0.0, [0, 0.333333, -0.633333, 0, 0.633333, -0.666667]),
    (0.95, [0.300833, 0.333333, -0.607541, 0.028579, 0.031667, -0.666667]),
])  # fmt: skip
def test_gagpo_is_a_point_of_the_space_up_to_the_discount(lam: float, rows: list[float]) -> None:
    found = advantages(e2(), "graph", gamma=0.95, backup="visit_mean", credit="gae", lam=lam)
    np.testing.assert_allclose(found / 0.95, e2_rows(*rows), atol=1e-5)


@pytest.mark.parametrize("credit", ["td", "q_minus_v", "gae"])
@pytest.mark.parametrize("backup", ["visit_mean", "fixed_point", "best", "distance"])
def test_without_a_success_all_advantages_are_0(credit: str, backup: str) -> None:
    found = graph(paths("s a u c -", "s b u e -", "s b ?"), credit=credit, backup=backup, lam=0.5)
    np.testing.assert_array_equal(found, np.zeros(5))


@pytest.mark.parametrize("normalize", ["centre", "std"])
def test_a_state_seen_once_has_no_normalized_credit(normalize: str) -> None:
    np.testing.assert_array_equal(graph(outcomes(1, 0), credit="return", normalize=normalize), np.zeros(2))
