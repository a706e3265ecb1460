"""Gymnasium environments as environments for agents: texts, words, anchors, chance, and the property checks."""

from __future__ import annotations

import itertools
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium import spaces
from hypothesis import given
from hypothesis import strategies as st

import cairn
from cairn.core.errors import ConfigError
from cairn.core.keys import canonical_bytes
from cairn.envs.base import TextEnv
from cairn.envs.checker import PROPERTIES, check_property
from cairn.envs.properties.subject import Subject
from tests.sampling import sampled_params

NAMES = ["left", "down", "right", "up"]


def frozen(**settings: Any) -> gymnasium.Env[Any, Any]:
    return gymnasium.make("FrozenLake-v1", max_episode_steps=-1, render_mode="ansi", **settings)


def at_goal(env: Any) -> bool:
    return bool(env.unwrapped.desc.flat[env.unwrapped.s] == b"G")


lake = cairn.wrap(
    "FrozenLake-v1",
    name="lake",
    actions=NAMES,
    success=at_goal,
    instruction="Walk over the ice from S to G. H is a hole.",
)
dry = cairn.wrap(lambda: frozen(is_slippery=False), name="dry", actions=NAMES, success=at_goal, turn_limit=30)
cliff = cairn.wrap("CliffWalking-v1", name="cliff", success=lambda env: env.unwrapped.s == 47)
pole = cairn.wrap("CartPole-v1", name="pole", actions=["left", "right"])


class Mixed(gymnasium.Env[Any, Any]):
    """Spaces within spaces; three steps."""

    observation_space = spaces.Dict(
        {"place": spaces.Box(-1, 1, (2,)), "in": spaces.Tuple((spaces.Text(5), spaces.MultiBinary(3)))}
    )
    action_space = spaces.MultiDiscrete([3, 2])

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        super().reset(seed=seed)
        self.steps: list[list[int]] = []
        return self.seen(), {}

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        self.steps.append(action.tolist())
        return self.seen(), 1.0, len(self.steps) == 3, False, {}

    def seen(self) -> dict[str, Any]:
        return {"place": np.array([0.123456, -1.0]), "in": ("ab", np.array([1, 0, 1]))}


mixed = cairn.wrap(Mixed, name="mixed")
WRAPPED = ("lake", "dry", "cliff", "pole", "mixed")


def begun(kind: type[TextEnv], task: str = "3", seed: int = 0) -> tuple[TextEnv, str]:
    env = kind()
    return env, env.reset(seed=seed, options={"task": task})[0]


@pytest.mark.parametrize(("wrapped", "name"), sampled_params(itertools.product(WRAPPED, PROPERTIES)))
def test_the_properties_hold(wrapped: str, name: str) -> None:
    report = check_property(name, Subject(f"{__name__}:{wrapped}"))
    assert report.holds, report.detail


def test_texts_and_words() -> None:
    env, text = begun(lake)
    assert text == (
        "Walk over the ice from S to G. H is a hole.\n\nActions: left, down, right, up.\n\n[S]FFF\nFHFH\nFFFH\nHFFG"
    )
    before = env.anchor()
    text, reward, terminated, _, info = env.step("jump")
    assert (text, reward, terminated) == ("There is no action 'jump'. Actions: left, down, right, up.", 0.0, False)
    assert info["anchor"] == before
    assert info["admissible_actions"] == ("down", "left", "right", "up")
    for word in (" DOWN ", "1"):
        env, _ = begun(dry)
        assert env.step(word)[0] == "  (Down)\nSFFF\n[F]HFH\nFFFH\nHFFG"


def test_spaces_within_spaces() -> None:
    env, text = begun(mixed)
    assert text.endswith("in.0: ab\nin.1: 1 0 1\nplace: 0.1235 -1")
    assert text.startswith("An action is 2 numbers below 3 2, separated by blanks.")
    assert env.step("2, 1")[1] == 1.0
    assert env.step("3 1")[0].startswith("'3 1' is not a possible action.")
    assert env.step("x")[0].startswith("'x' is not 2 numbers.")
    assert env._env.unwrapped.steps == [[2, 1]]  # type: ignore[attr-defined]  # a wrapped one's


def test_the_oracle_walks_by_the_table_where_that_wins() -> None:
    env, _ = begun(dry)
    for _ in range(30):
        *_, terminated, _, info = env.step(env.oracle())
        if terminated:
            break
    assert (env.turn, info["success"], info["score"]) == (6, True, 1.0)
    assert cliff.meta.oracles == ("planner",)
    assert cairn.wrap("CliffWalking-v1").meta.oracles == ()  # its rewards are never above 0
    assert lake.meta.oracles == ()  # chance decides


def test_a_task_fixes_the_start_and_the_episode_fixes_chance() -> None:
    def walk(task: str, seed: int) -> list[str]:
        env, _ = begun(lake, task, seed)
        texts = []
        for _ in range(12):
            text, _, terminated, truncated, _ = env.step("right")
            texts.append(text)
            if terminated or truncated:
                break
        return texts

    assert walk("3", 1) == walk("3", 1)
    assert len({tuple(walk("3", seed)) for seed in range(8)}) > 1
    starts = {begun(pole, task)[1] for task in ("1", "1", "2")}
    assert len(starts) == 2


def test_anchors_are_states_where_they_are_known_and_histories_elsewhere() -> None:
    assert dry.meta.is_deterministic
    assert not lake.meta.is_deterministic
    env, _ = begun(dry)
    start = env.anchor()
    for word in ("down", "up"):
        env.step(word)
    assert env.anchor() == start  # back again
    env, _ = begun(cairn.wrap(lambda: frozen(is_slippery=False), actions=NAMES, anchor="history"))
    for word in ("down", "up"):
        env.step(word)
    assert env.anchor() != start
    own = cairn.wrap("CartPole-v1", anchor=lambda env: env.unwrapped.state, is_deterministic=True)
    env, _ = begun(own)
    assert env.anchor() == begun(own)[0].anchor() != begun(own, "4")[0].anchor()


def test_success_by_return_by_state_and_by_default() -> None:
    kinds = [mixed, cairn.wrap(Mixed, success=4.0), cairn.wrap(Mixed, success=lambda env: len(env.steps) == 2)]
    found = []
    for kind in kinds:
        env, _ = begun(kind)
        found.append([env.step("0 0")[4]["success"] for _ in range(3)])
    assert found == [[False, False, True], [False, False, False], [False, True, False]]


def test_an_environment_itself_is_wrapped_once() -> None:
    kind = cairn.wrap(Mixed())
    kind()
    with pytest.raises(ConfigError, match="can be wrapped once; wrap a function that makes one"):
        kind()


class Pixels(Mixed):
    observation_space = spaces.Box(0, 255, (64, 64, 3), np.uint8)  # type: ignore[assignment]  # another kind


class Graphs(Mixed):
    action_space = spaces.OneOf((spaces.Discrete(2), spaces.Discrete(3)))  # type: ignore[assignment]  # another kind


@pytest.mark.parametrize(
    ("given", "why"),
    [
        ({"env": "NoSuchLake-v1"}, "Gymnasium has no environment 'NoSuchLake-v1'"),
        ({"env": 3}, "Expected an id, an environment, or a function that makes one, got 3"),
        ({"env": "FrozenLake-v1", "actions": ["left", "right"]}, "expected 4 different names"),
        ({"env": "FrozenLake-v1", "actions": ["a", "b", "c", "A"]}, "expected 4 different names"),
        ({"env": Mixed, "actions": ["a"]}, "names are for a Discrete space, not for MultiDiscrete"),
        ({"env": Pixels}, "Box has no text by default: give text="),
        ({"env": Graphs}, "OneOf has no words by default: give actions="),
    ],
)
def test_arguments_that_cannot_be_wrapped_are_rejected(given: dict[str, Any], why: str) -> None:
    with pytest.raises(ConfigError, match=why):
        cairn.wrap(**given)


def test_functions_for_texts_and_actions() -> None:
    def halves(said: str) -> Any:
        if said not in ("up", "down"):
            raise ValueError("Say up or down.")
        return np.array([1, 0]) if said == "up" else np.array([0, 1])

    env, text = begun(cairn.wrap(Pixels, text=lambda env, seen: f"{len(env.steps)} steps", actions=halves))
    assert text == "0 steps"
    assert env.step("sideways")[0] == "Say up or down. "
    assert env.step("up")[0] == "1 steps"
    named = cairn.wrap(Mixed, actions={"first": np.array([0, 0]), "last": np.array([2, 1])})
    env, _ = begun(named)
    assert env.step("last")[4]["admissible_actions"] == ("first", "last")


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text() | st.binary(),
    lambda each: st.lists(each) | st.tuples(each, each) | st.dictionaries(st.text(), each),
)


@given(VALUES, VALUES)
def test_canonical_bytes_are_equal_for_equal_values_alone(first: Any, second: Any) -> None:
    assert canonical_bytes(first) == canonical_bytes(first)
    if repr(first) != repr(second) and first != second:
        assert canonical_bytes(first) != canonical_bytes(second)


def test_canonical_bytes_of_arrays_and_sets() -> None:
    assert canonical_bytes({1, 2, 3}) == canonical_bytes({3, 2, 1})
    assert canonical_bytes({"a": 1, "b": 2}) == canonical_bytes({"b": 2, "a": 1})
    assert canonical_bytes(np.int64(3)) == canonical_bytes(3)
    assert canonical_bytes(np.arange(4)) != canonical_bytes(np.arange(4).reshape(2, 2))
    assert canonical_bytes(np.arange(4)) != canonical_bytes(np.arange(4, dtype=np.int32))
    odd = cairn.wrap("CartPole-v1", anchor=lambda env: env.unwrapped)
    with pytest.raises(ConfigError, match=r"anchor: expected numbers, texts, .*, got CartPole"):
        begun(odd)


@pytest.mark.parametrize("mode", ["sync", "async"])
def test_in_vectors(mode: str) -> None:
    cairn.register("wrapped-lake", f"{__name__}:dry")
    env: Any = gymnasium.make_vec("cairn/wrapped-lake", num_envs=3, vectorization_mode=mode)
    try:
        texts, _ = env.reset(seed=0)
        assert all("[S]FFF" in text for text in texts)
        texts, *_ = env.step(("down", "right", "down"))
        assert ["(Down)" in text for text in texts] == [True, False, True]
    finally:
        env.close()
