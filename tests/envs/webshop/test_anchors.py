"""Admissible actions in a state, equal states, and returning to a state."""

from __future__ import annotations

import random

import pytest

from tests.envs.webshop import tiny
from tests.envs.webshop.tiny import Make, start, task_with


def test_admissible_actions_are_sorted_and_each_does_something(tiny_env: Make) -> None:
    env = tiny_env(show_attributes=True)
    rng = random.Random(3)
    for task in env.tasks():
        _, info = start(env, task=task)
        for _ in range(14):
            actions = info["admissible_actions"]
            assert list(actions) == sorted(set(actions))
            anchor = info["anchor"]
            _, _, terminated, _, info = env.step(
                rng.choice([action for action in actions if action != "click[buy now]"])
            )
            assert info["anchor"] != anchor
            assert not terminated


def test_admissible_actions_on_every_kind_of_page(tiny_env: Make) -> None:
    env = tiny_env()
    instruction = env.goal("goal/0").instruction
    assert start(env)[1]["admissible_actions"] == (f"search[{instruction}]",)
    item = start(env, "search[lamp]", "click[lamp000001]", "click[red]")[1]["admissible_actions"]
    labels = ["< prev", "back to search", "buy now", "coal grey", "description", "features", "l", "m", "reviews", "s"]
    assert item == tuple(f"click[{label}]" for label in labels)  # red is chosen already


def test_values_that_no_action_can_contain_are_not_admissible(tiny_env: Make) -> None:
    env = tiny_env(tiny.product(options={"size": ("[us 8]", "us 9", "a\nb")}, name="X", instruction="Find\nme [it]"))
    task = task_with(env, size="[us 8]")
    _, info = start(env, task=task)
    (action,) = info["admissible_actions"]
    assert action == "search[Find me  it  with size:  us 8 , and price lower than " + action.rpartition(" than ")[2]
    assert env.step(action)[0] != start(env, task=task)[0]
    _, info = start(env, "search[x]", "click[x000000000]", task=task)
    assert [action for action in info["admissible_actions"] if "us" in action] == ["click[us 9]"]


def test_anchors_merge_searches_that_find_the_same_and_nothing_else(tiny_env: Make) -> None:
    env = tiny_env()

    def anchor(*actions: str, task: str = "goal/0") -> int:
        return int(start(env, *actions, task=task)[1]["anchor"])

    assert anchor("search[lamp]") == anchor("search[the LAMPS]") == anchor("search[mug]", "search[lamp]")
    assert anchor("search[lamp]") != anchor("search[rug]")
    assert anchor("search[lamp]") != anchor("search[lamp]", task="goal/1")
    opened = ("search[lamp]", "click[lamp000001]")
    assert anchor(*opened, "click[red]", "click[s]") == anchor(
        *opened, "click[s]", "click[m]", "click[red]", "click[s]"
    )
    assert anchor(*opened, "click[red]") != anchor(*opened)
    assert anchor(*opened, "click[red]", "click[features]") != anchor(*opened, "click[features]")
    assert anchor(*opened, "click[< prev]") == anchor("search[lamp]")
    assert anchor("search[lamp]", "click[next >]") != anchor("search[lamp]")
    assert anchor("search[lamp]", "click[back to search]") == anchor()
    assert anchor("search[nothing such]") != anchor()


def test_random_products_depend_on_the_task_so_that_equal_states_have_equal_futures(tiny_env: Make) -> None:
    env = tiny_env()
    drawn = start(env, "search[<r>]")
    assert start(env, "search[lamp]", "search[<r> again]") == drawn
    found = set()
    for task in env.tasks():
        start(env, "search[<r>]", task=task)
        found.add(env.session.results)
    assert len(found) > 3


def test_anchors_distinguish_states_whose_marked_pages_differ(tiny_env: Make) -> None:
    env = tiny_env(observation="text_rich")
    first, again, opened = (
        start(env, *actions)
        for actions in (["search[lamp]"], ["search[lamps]"], ["search[lamp]", "click[lamp000001]", "click[< prev]"])
    )
    assert len({first[1]["anchor"], again[1]["anchor"], opened[1]["anchor"]}) == 3
    assert opened[0] != first[0]
    item = ("search[lamp]", "click[lamp000001]")
    assert start(env, *item, "click[red]", "click[s]") == start(env, *item, "click[s]", "click[red]")


def test_anchors_of_html_pages_are_those_of_texts(tiny_env: Make) -> None:
    """Neither shows the search words or the opened products."""
    for observation in ("text", "html"):
        env = tiny_env(observation=observation)
        assert start(env, "search[lamps]", "click[lamp000001]", "click[< prev]") == start(env, "search[lamp]")


@pytest.mark.parametrize("observation", ["text", "text_rich", "html"])
def test_equal_anchors_show_equal_pages(tiny_env: Make, observation: str) -> None:
    env = tiny_env(observation=observation)
    rng = random.Random(0)
    seen: dict[int, tuple[str, tuple[str, ...]]] = {}
    for _ in range(60):
        text, info = start(env)
        for _ in range(12):
            assert seen.setdefault(info["anchor"], (text, info["admissible_actions"])) == (
                text,
                info["admissible_actions"],
            )
            actions = [*info["admissible_actions"], "search[rug]", "search[rugs]", "search[lamp]"]
            text, _, terminated, _, info = env.step(rng.choice(actions))
            if terminated:
                break


def test_snapshots_bring_back_page_choices_and_turns(tiny_env: Make) -> None:
    env, other = tiny_env(), tiny_env()
    task = task_with(env, color="red", size="s")
    start(env, "search[lamp]", "click[lamp000001]", "click[red]", task=task)
    snapshot = env.snapshot()
    endings = []
    for each in (env, env, other):
        each.restore(snapshot)
        assert (each.turn, each.task_id) == (3, task)
        endings.append([each.step("click[s]"), each.step("click[buy now]")])
    assert endings[0] == endings[1] == endings[2]
    assert endings[0][1][1] == 1.0
