"""GDPO against numbers worked out by hand."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest

from cairn.core.errors import CairnError
from cairn.core.table import StepTable
from cairn.trainer.credit import advantages
from tests.trainer.credit.columns import outcomes, table


def channelled(episodes: StepTable, **channels: Sequence[float]) -> StepTable:
    return replace(
        episodes,
        channels={name: np.array(x, np.float64) for name, x in channels.items()},
        parts=tuple(channels),
    )


TWO_TASKS = channelled(
    outcomes(1, 2, 0, 1, 1.5, 0.5, 0.5, 0.5, groups=[0, 0, 0, 0, 1, 1, 1, 1]),
    solved=[1, 1, 0, 0, 1, 0, 0, 0],
    neat=[0, 1, 0, 1, 0.5, 0.5, 0.5, 0.5],
)


def test_two_tasks_and_two_channels() -> None:
    # first task: both channels +-0.5 / (0.577350 + 0.0001) = +-0.865876: sums 0, 1.731751, -1.731751, 0;
    # second: 0.75 and -0.25 over 0.5001, the other channel has no spread: 1.499700, -0.499900 x 3;
    # squares 2 x 2.998962 + 2.249100 + 3 x 0.249900 = 8.996725 over 7 = 1.285246, std 1.133687, over 1.133787
    first, second = [0, 1.527404, -1.527404, 0], [1.322735, -0.440912, -0.440912, -0.440912]
    np.testing.assert_allclose(advantages(TWO_TASKS, "gdpo"), first + second, atol=1e-6)


def test_one_success_in_four() -> None:
    # 1.499700, -0.499900 x 3: squares 2.249100 + 3 x 0.249900 over 3, std 0.999800, over 0.999900
    episodes = channelled(outcomes(1, 0, 0, 0), solved=[1, 0, 0, 0])
    np.testing.assert_allclose(advantages(episodes, "gdpo"), [1.499850, -0.499950, -0.499950, -0.499950], atol=1e-6)


def test_channels_have_weights_and_1_where_none_is_given() -> None:
    # without `neat`: +-0.865876 x 4 and 1.499700, -0.499900 x 3: squares 4 x 0.749741 + 2.998800 = 5.997764 over 7,
    # std 0.925648, over 0.925748
    found = advantages(TWO_TASKS, "gdpo", weights={"neat": 0.0})
    first, second = [0.935326, 0.935326, -0.935326, -0.935326], [1.619988, -0.539996, -0.539996, -0.539996]
    np.testing.assert_allclose(found, first + second, atol=2e-6)


def test_a_weight_is_a_factor_before_the_batchs_deviation() -> None:
    # one task; sums 0.865876 (1, 1 - 3, 3 - 1, ...): 1 + 3, 1 - 3, -1 + 3, -1 - 3 times 0.865876; squares
    # 0.749740 x (16 + 4 + 4 + 16) = 29.989610 over 3, std 3.161730, over 3.161830: 3.463502 and 1.731751 over it
    episodes = channelled(outcomes(1, 1, 0, 0), solved=[1, 1, 0, 0], neat=[1, 0, 1, 0])
    found = advantages(episodes, "gdpo", weights={"neat": 3.0})
    np.testing.assert_allclose(found, [1.095411, -0.547705, 0.547705, -1.095411], atol=2e-6)


def test_epsilon_is_added_to_all_deviations() -> None:
    # 0.5 / (0.707107 + 0.292893) = 0.5; std 0.707107; 0.5 / 1
    episodes = channelled(outcomes(1, 0), solved=[1, 0])
    np.testing.assert_allclose(advantages(episodes, "gdpo", epsilon=0.292893), [0.5, -0.5], atol=1e-6)


def test_channels_of_an_episodes_steps_add_up_and_episodes_of_any_length_count_once() -> None:
    # 1 and 0: +-0.5 / 0.707207 = 0.707007, std 0.999859; over 0.999959
    episodes = channelled(table([("a", 0.0), ("b", 1.0)], [("c", 0.0)]), solved=[0.25, 0.75, 0])
    np.testing.assert_allclose(advantages(episodes, "gdpo"), [0.707036, 0.707036, -0.707036], atol=1e-6)


def test_a_group_of_one_or_without_spread_has_no_advantage() -> None:
    rewards = [5, 0.3, 0.3, 0.3, 0.1, 0.7, 0.2]
    episodes = channelled(outcomes(*rewards, groups=[0, 1, 1, 1, 2, 2, 2]), solved=rewards)
    found = advantages(episodes, "gdpo")
    np.testing.assert_array_equal(found[:4], np.zeros(4))
    assert found[5] > 0 > found[4]


def test_a_batch_of_one_episode_has_no_advantage() -> None:
    np.testing.assert_array_equal(advantages(channelled(outcomes(5), solved=[5]), "gdpo"), [0.0])


def test_whitened_over_tokens_long_replies_move_the_mean() -> None:
    # S = +-a with 1 and 3 tokens: mean -a/2, squares (1.5 a)^2 + 3 (0.5 a)^2 = 3 a^2 over 3: 1.5 and -0.5 for every a
    episodes = replace(channelled(outcomes(1, 0), solved=[1, 0]), length=np.array([1.0, 3.0]))
    np.testing.assert_allclose(advantages(episodes, "gdpo", whiten="tokens", epsilon=1e-6), [1.5, -0.5], atol=1e-6)


def test_whitening_over_tokens_needs_lengths() -> None:
    with pytest.raises(CairnError, match="needs the column length"):
        advantages(channelled(outcomes(1, 0), solved=[1, 0]), "gdpo", whiten="tokens")


def test_a_channel_that_is_not_a_part_of_the_reward_changes_nothing() -> None:
    noise = np.array([9.0, 0, 0, 0, 0, 9, 9, 0])
    more = replace(TWO_TASKS, channels={**TWO_TASKS.channels, "tests": noise})
    np.testing.assert_array_equal(advantages(more, "gdpo"), advantages(TWO_TASKS, "gdpo"))


def test_a_weight_of_a_channel_that_is_not_a_part_is_refused() -> None:
    more = replace(TWO_TASKS, channels={**TWO_TASKS.channels, "tests": np.zeros(8)})
    with pytest.raises(CairnError, match=r"got \['tests'\]; the table's parts are \['solved', 'neat'\]"):
        advantages(more, "gdpo", weights={"tests": 1.0})


def test_without_parts_it_is_refused() -> None:
    only_channels = replace(TWO_TASKS, parts=())
    with pytest.raises(
        CairnError, match=r"'gdpo' needs parts, .*give it to StepTable\.from_columns, as names of channels"
    ):
        advantages(only_channels, "gdpo")
