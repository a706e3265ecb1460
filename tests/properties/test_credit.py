"""Every credit method in `trainer/credit/` has every property; a new one is covered without editing this file."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cairn.core.plugins import CREDITS
from cairn.core.table import Floats, StepTable
from cairn.trainer.credit import advantages
from cairn.trainer.credit.base import Property

pytestmark = pytest.mark.rotating(3)

METHODS = CREDITS.ids()


def keepers(required: Property) -> list[str]:
    """The methods that do not declare that they violate `required`."""
    return [name for name in METHODS if required not in CREDITS.load(name).violates]


Step = tuple[int, float, bool]  # state, reward, whether the reply was valid
Made = list[tuple[int, list[Step]]]  # group and steps of each episode

steps = st.tuples(st.integers(0, 3), st.sampled_from([0.0, 0.0, 1.0, -0.5, 10.0]), st.booleans())
made = st.lists(st.tuples(st.integers(0, 2), st.lists(steps, min_size=1, max_size=6)), min_size=1, max_size=8)


def table_of(episodes: Made, rows: Sequence[int] | None = None) -> StepTable:
    """Return the table, its rows in the order of `rows`; None: episode by episode."""
    flat = [(g, e, t, *step) for e, (g, steps) in enumerate(episodes) for t, step in enumerate(steps)]
    flat = flat if rows is None else [flat[i] for i in rows]
    group, episode, turn, anchor, reward, valid = zip(*flat, strict=True)
    return StepTable.from_columns(
        group=group,
        episode=episode,
        turn=turn,
        anchor=anchor,
        action=turn,
        reward=reward,
        valid=valid,
        **optional_columns(group, reward, anchor),
    )


def optional_columns(group: Sequence[int], reward: Sequence[float], anchor: Sequence[int]) -> dict[str, Any]:
    """Return the columns that some methods need: facts that are the same for steps that are the same."""
    state = np.array(anchor, np.float64)
    return {
        "channels": {
            "match": np.array(reward) > 0.5,
            "test/0": np.array(reward) > 0.5,
            "implicit": np.array(reward) / 4,
            "change": 1 + state / 8,
            "outcome": state,
        },
        "parts": ("implicit", "change"),
        "length": 1 + np.array(anchor) % 2,
        "logprob": -0.1 - state / 8,
        "value": np.zeros(len(reward)),
        "role": np.array(group) * 0,
    }


def all_valid(episodes: Made) -> Made:
    return [(group, [(state, reward, True) for state, reward, _ in steps]) for group, steps in episodes]


def group_of_rows(episodes: Made) -> list[int]:
    return [group for group, steps in episodes for _ in steps]


@pytest.mark.parametrize("method", METHODS)
@given(episodes=made)
def test_one_finite_float64_a_turn(method: str, episodes: Made) -> None:
    found = advantages(table_of(episodes), method)
    assert found.dtype == np.float64
    assert found.shape == (sum(len(steps) for _, steps in episodes),)
    assert np.isfinite(found).all()


@pytest.mark.parametrize("method", METHODS)
@given(episodes=made, data=st.data())
def test_rows_are_returned_in_the_callers_order(method: str, episodes: Made, data: st.DataObject) -> None:
    straight = advantages(table_of(episodes), method)
    rows = data.draw(st.permutations(range(len(straight))))
    np.testing.assert_allclose(advantages(table_of(episodes, rows), method), straight[rows], rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("method", METHODS)
@given(episodes=made, data=st.data())
def test_the_order_of_episodes_does_not_matter(method: str, episodes: Made, data: st.DataObject) -> None:
    order = data.draw(st.permutations(range(len(episodes))))
    first = np.cumsum([0, *(len(steps) for _, steps in episodes)])
    rows = [row for e in order for row in range(first[e], first[e + 1])]
    shuffled = advantages(table_of([episodes[e] for e in order]), method)
    np.testing.assert_allclose(shuffled, advantages(table_of(episodes), method)[rows], rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("method", keepers("scoped"))
@given(episodes=made)
def test_tasks_do_not_mix(method: str, episodes: Made) -> None:
    together = advantages(table_of(episodes), method)
    groups = group_of_rows(episodes)
    for group in set(groups):
        alone = advantages(table_of([e for e in episodes if e[0] == group]), method)
        rows = [row for row, of in enumerate(groups) if of == group]
        np.testing.assert_allclose(together[rows], alone, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("method", keepers("no spread"))
@given(steps=st.lists(steps, min_size=1, max_size=6), count=st.integers(2, 5))
def test_a_task_whose_episodes_are_all_alike_has_no_advantage(method: str, steps: list[Step], count: int) -> None:
    states = [(state, reward, True) for state, (_, reward, _) in enumerate(steps)]  # no state twice in one episode
    found = advantages(table_of([(0, states)] * count), method)
    np.testing.assert_allclose(found, np.zeros(len(found)), atol=1e-9)


@pytest.mark.parametrize("method", keepers("lone"))
@given(rewards=st.lists(st.floats(-1e3, 1e3), min_size=1, max_size=6))
def test_a_single_episode_that_revisits_no_state_has_no_advantage(method: str, rewards: list[float]) -> None:
    found = advantages(table_of([(0, [(state, reward, True) for state, reward in enumerate(rewards)])]), method)
    np.testing.assert_allclose(found, np.zeros(len(found)), atol=1e-9)


@pytest.mark.parametrize("method", keepers("shift"))
@given(
    scores=st.lists(st.floats(-10, 10).map(lambda x: round(x, 3)), min_size=2, max_size=6),
    shift=st.floats(-10, 10).map(lambda x: round(x, 3)),
)
def test_adding_a_constant_to_every_score_changes_nothing(method: str, scores: list[float], shift: float) -> None:
    def found(extra: float) -> Floats:
        return advantages(table_of([(0, [(0, score + extra, True)]) for score in scores]), method)

    np.testing.assert_allclose(found(shift), found(0.0), atol=1e-5)


@pytest.mark.parametrize("method", keepers("better"))
def test_the_better_of_two_episodes_has_the_greater_advantage(method: str) -> None:
    found = advantages(
        replace(two := table_of([(0, [(0, 1.0, True)]), (0, [(0, 0.0, True)])]), action=two.episode.astype(np.uint64)),
        method,
    )
    assert found[0] > 0 > found[1]


@pytest.mark.parametrize("method", METHODS)
@given(episodes=made, data=st.data())
def test_a_step_that_is_not_trained_on_has_no_advantage_and_changes_no_other(
    method: str, episodes: Made, data: st.DataObject
) -> None:
    whole = table_of(episodes)
    trained = data.draw(st.lists(st.booleans(), min_size=len(whole), max_size=len(whole)))
    masked = replace(whole, trained=np.array(trained)[whole.order])
    expected = np.where(trained, advantages(whole, method), 0.0)
    np.testing.assert_array_equal(advantages(masked, method), expected)


@pytest.mark.parametrize("method", METHODS)
def test_the_table_is_left_as_it_was(method: str) -> None:
    episodes: Made = [(0, [(0, 1.0, True), (1, 0.0, False)]), (0, [(0, 0.0, True)])]
    table, fresh = table_of(episodes), table_of(episodes)
    advantages(table, method)
    for name in ("group", "episode", "turn", "anchor", "action", "reward", "valid", "order"):
        np.testing.assert_array_equal(getattr(table, name), getattr(fresh, name))
