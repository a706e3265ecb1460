"""The environment as a whole: names that are promised, settings that are refused, and how episodes end."""

from __future__ import annotations

from typing import Any

import gymnasium
import pytest

import cairn
from cairn.core.errors import CairnError, ConfigError, UnknownNameError
from cairn.envs.webshop.env import ENV, WebShopEnv
from cairn.envs.webshop.pages import State
from tests.envs.webshop import tiny
from tests.envs.webshop.tiny import Make, start, task_with

SMALL: dict[str, Any] = {"num_products": 200}  # Any: settings


def test_it_is_found_by_name() -> None:
    env = cairn.make("webshop", **SMALL)
    assert isinstance(env, ENV)
    assert env.unwrapped is env
    assert ENV.meta.version == 1
    assert (ENV.meta.name, ENV.meta.turn_limit, ENV.meta.reward_range) == ("webshop", 15, (0.0, 1.0))


def test_the_promised_names_of_settings_and_tasks() -> None:
    tiny.data_folder()
    settings = {"source": "webshop-1000", "observation": "text", "noun_tagger": "stub", "splits": "original"}
    env = cairn.make("webshop", **settings, split="test")
    assert list(env.tasks()) == [f"goal/{index}" for index in range(500)]
    text, info = env.reset(seed=0, options={"task": "goal/0"})
    assert text.startswith("WebShop [SEP] Instruction: [SEP] Find me double sided, machine washable decorative pillows")
    names = "admissible_actions anchor channels max_calls results score success takes_text task_id tools"
    assert sorted(info) == names.split()
    env.reset(options={"task": "goal/6909"})  # of another split
    with pytest.raises(UnknownNameError):
        env.reset(options={"task": "goal/6910"})


def test_drawing_a_task_of_an_empty_split_raises_an_error() -> None:
    env = WebShopEnv(num_products=1, split="test")
    assert len(env.tasks()) == 0
    with pytest.raises(CairnError, match="webshop lists no tasks with these settings: take another split"):
        env.reset(seed=0)
    assert env.reset(options={"task": "goal/0"})[0]


@pytest.mark.parametrize(
    "task",
    ["goal/13", "goal/-1", "goal/01", "goal/", "goal/1 ", "1", "human/1", "goal/\u0661", "goal/1\u0661", "goal/9" * 9],
)
def test_other_ids_are_refused(tiny_env: Make, task: str) -> None:
    env = tiny_env()
    assert not env.has_task(task)
    with pytest.raises(UnknownNameError, match="Unknown task of webshop"):
        env.reset(options={"task": task})


def test_human_goals_have_ids_of_their_own() -> None:
    tiny.data_folder()
    env = WebShopEnv(source="webshop-1000", goals="human", split="all")
    assert env.tasks()[0] == "human/0"
    assert not env.has_task("goal/0")
    assert env.reset(options={"task": "human/0"})[0].startswith("WebShop [SEP] Instruction: [SEP] i ")


@pytest.mark.parametrize(
    "config",
    [
        {"source": "webshop"}, {"split": "dev"}, {"splits": "gigpo", "split": "valid"}, {"shuffle_seed": 7},
        {"observation": "url"}, {"noun_tagger": "nltk"}, {"num_products": 0}, {"price_seed": -1},
        {"sourse": "generated"},
    ],
)  # fmt: skip
def test_settings_that_make_no_sense_are_refused(config: dict[str, Any]) -> None:
    with pytest.raises(ConfigError, match="webshop"):
        WebShopEnv(**{**SMALL, **config})


def test_a_purchase_ends_the_episode_with_its_reward(tiny_env: Make) -> None:
    env = tiny_env()
    task = task_with(env, color="red", size="s")
    start(env, "search[lamp]", "click[lamp000001]", "click[red]", task=task)
    text, reward, terminated, truncated, info = env.step("click[Buy Now]")  # bright, red and the price, of 1 + 2 + 1
    assert (reward, terminated, truncated) == (3 / 4, True, False)
    assert (info["score"], info["success"], info["admissible_actions"]) == (3 / 4, False, ())
    assert info["channels"] == {"attributes": 1 / 4, "options": 1 / 4, "price": 1 / 4, "type": 0.0}
    assert text.startswith("Thank you for shopping with us!")
    with pytest.raises(gymnasium.error.ResetNeeded):
        env.step("click[back to search]")
    start(env, "search[lamp]", "click[lamp000001]", "click[red]", "click[s]", task=task)
    _, reward, terminated, _, info = env.step("click[buy now]")
    assert (reward, terminated, info["score"], info["success"]) == (1.0, True, 1.0, True)


def test_episodes_are_cut_at_the_turn_limit_without_a_score(tiny_env: Make) -> None:
    env = tiny_env()
    start(env, *["search[lamp]"] * 14)
    _, reward, terminated, truncated, info = env.step("search[lamp]")
    assert (reward, terminated, truncated, info["success"], info["score"]) == (0.0, False, True, False, 0.0)


def test_the_best_score_is_below_1_where_the_reward_cannot_be_satisfied(tiny_env: Make) -> None:
    env = tiny_env()
    best = {str(env.goal(task).options): env.best_score(task) for task in env.tasks()}
    assert best.pop("{'finish': '228blue'}") == 3 / 4
    assert best.pop("{'color': 'two', 'shade': 'three'}") == 3 / 4
    assert best.pop("{'color': 'two', 'shade': 'two'}") == 1.0  # one choice of two meets both
    assert set(best.values()) == {1.0}
    assert not env.can_solve(task_with(env, finish="228blue"))
    assert env.can_solve(task_with(env, finish="blue"))


def test_tasks_are_of_the_department_of_their_product(tiny_env: Make) -> None:
    env = tiny_env()
    assert [env.task_type(task) for task in env.tasks()].count("grocery") == 1
    assert {env.task_type(task) for task in WebShopEnv(**SMALL).tasks()} <= {
        "beauty",
        "electronics",
        "fashion",
        "garden",
        "grocery",
    }


def test_difficulty_is_how_much_is_asked_for() -> None:
    env = WebShopEnv(**SMALL)
    found: dict[str, set[int]] = {}
    for number, goal in enumerate(env.shop.goals):
        asked = len(goal.attributes) + len(goal.options)
        found.setdefault(env.difficulty(f"goal/{number}"), set()).add(asked)
    assert max(found["1"]) == 4
    assert found["2"] == {5, 6}
    assert min(found["3"]) == 7


def test_the_oracle_is_named_and_others_are_refused(tiny_env: Make) -> None:
    env = tiny_env()
    start(env)
    assert env.oracle() == env.oracle("buyer")
    with pytest.raises(UnknownNameError):
        env.oracle("seller")


def test_a_shop_without_such_goals_is_refused() -> None:
    with pytest.raises(CairnError, match="the generated shop has no human goals"):
        WebShopEnv(**SMALL, goals="human")


def test_rendering_shows_the_last_page(tiny_env: Make) -> None:
    env = tiny_env(render_mode="ansi")
    text, _ = start(env, "search[lamp]")
    assert env.render() == text
    assert env.session == State(page="results", keywords=("lamp",), results=(0, 1))
