"""Every perturbation of every environment is the same environment in other words; new ones are covered by discovery.

An environment that cannot be rephrased in some respect refuses with an error. Environments that wait for other
processes play a few episodes; the default run takes a rotating quarter of their perturbations, and the slow tests take
all of them, and check the properties of environments for a rotating eighth as well.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import lru_cache
from itertools import product
from typing import Any

import pytest

from cairn.core.errors import ConfigError, MissingDataError, MissingExtraError, MissingProgramError
from cairn.core.plugins import ENVS, PERTURBATIONS
from cairn.envs import registry
from cairn.envs.base import TextEnv
from cairn.envs.checker import PROPERTIES, check_property
from cairn.envs.gui.browsing import close_browsers
from cairn.envs.perturbed import Perturbed
from cairn.envs.properties.subject import Frame, Subject, explore, last, oracle, play, script, wander
from cairn.envs.rephrasable import Rephrasable
from tests.properties.test_environments import IDS, waits
from tests.sampling import sample, sampled_params

pytestmark = pytest.mark.rotating(3)

NOT_HERE = (MissingDataError, MissingExtraError, MissingProgramError)
SHARE = {False: 1 / 8, True: 1 / 32}  # of the properties' episodes; less of those that wait
# Properties that no wording can change; and properties that are slow to check and equal in all environments, each with
# the one environment that checks it.
UNTOUCHED, ONCE = {"leaks", "random-agent", "constant-agent", "score-range", "errors"}, {"other-process": "household"}
WORDED = sorted(set(PROPERTIES) - {"oracle"} - UNTOUCHED)
CASES = [
    *((env_id, name) for env_id in IDS for name in PERTURBATIONS.ids() if not waits(env_id)),
    *sampled_params([(env_id, name) for env_id in IDS for name in PERTURBATIONS.ids() if waits(env_id)], parts=12),
]


@lru_cache(maxsize=1)
def subject(env_id: str, name: str) -> Subject:
    return Subject(env_id, {"perturb": {name: {}}}, SHARE[waits(env_id)])


@lru_cache(maxsize=1)
def plain(env_id: str) -> TextEnv:
    close_browsers()  # of the environment before
    return registry.make(env_id)


def perturbed(env_id: str, name: str) -> Perturbed:
    """The environment under the perturbation; skips environments that cannot run here or do not support it."""
    try:
        env = subject(env_id, name).env
    except NOT_HERE as error:
        pytest.skip(str(error))
    except ConfigError as refusal:
        if str(refusal).startswith(f"perturb.{name}: {registry.load(env_id).meta.name!r} "):
            pytest.skip(str(refusal))
        raise
    assert isinstance(env, Perturbed)
    return env


def side_by_side(env_id: str, name: str, steps: int = 12) -> Iterator[tuple[TextEnv, Frame, Frame]]:
    """Play the oracle, with some chance, in the plain environment and the perturbed one, and yield pairs of frames."""
    env = perturbed(env_id, name)
    for task, seed in subject(env_id, name).episodes(32):
        env.reset(seed=seed, options={"task": task})  # draws the names of the actions
        other = list(play(plain(env_id), task, seed, explore("side by side", seed), steps))
        actions = script([translated(env, frame.action or "") for frame in other[1:]])
        for mine, theirs in zip(play(env, task, seed, actions, len(other) - 1), other, strict=True):
            yield env, mine, theirs


def translated(env: Perturbed, action: str) -> str:
    for each in env._perturbations:
        action = each.to_agent(action)
    return action


@pytest.mark.parametrize(("env_id", "name"), CASES)
def test_a_perturbation_keeps_rewards_endings_anchors_and_counts_of_actions(env_id: str, name: str) -> None:
    for _, mine, theirs in side_by_side(env_id, name):
        assert (mine.reward, mine.is_terminated, mine.is_truncated) == (
            theirs.reward, theirs.is_terminated, theirs.is_truncated
        )  # fmt: skip
        same = ("task_id", "anchor", "success", "score", "channels")
        assert {key: mine.info[key] for key in same} == {key: theirs.info[key] for key in same}
        counts = [len(info["admissible_actions"] or ()) for info in (mine.info, theirs.info)]
        assert counts[0] == counts[1]


@pytest.mark.parametrize(("env_id", "name"), CASES)
def test_a_perturbation_changes_some_text(env_id: str, name: str) -> None:
    reported = [
        (mine.text, mine.info["admissible_actions"], mine.info["tools"])
        != (theirs.text, theirs.info["admissible_actions"], theirs.info["tools"])
        for _, mine, theirs in side_by_side(env_id, name, steps=1)
    ]
    assert any(reported)


@pytest.mark.parametrize(("env_id", "name"), CASES)
def test_the_oracle_succeeds_in_other_words(env_id: str, name: str) -> None:
    env = perturbed(env_id, name)
    ways = [oracle(name) for name in env.meta.oracles]
    wins = 0
    for task, seed in subject(env_id, name).episodes(32):
        for way in ways:
            mine, theirs = (last(each, task, seed, way).info for each in (env, plain(env_id)))
            assert (mine["success"], mine["score"]) == (theirs["success"], theirs["score"])
            wins += mine["success"] or mine["score"] == env.best_score(task)
    assert wins / len(ways) >= len(subject(env_id, name).episodes(32)) * env.meta.oracle_success - 1


def check(env_id: str, name: str, property_name: str) -> None:
    perturbed(env_id, name)
    if property_name in PERTURBATIONS.load(name).make.violates:
        pytest.skip("broken by intent")
    report = check_property(property_name, subject(env_id, name))
    assert report.holds, report.detail


@pytest.mark.parametrize("property_name", WORDED)
@pytest.mark.parametrize(
    ("env_id", "name"), [(env_id, name) for env_id in IDS for name in PERTURBATIONS.ids() if not waits(env_id)]
)
def test_a_perturbed_environment_has_property(env_id: str, name: str, property_name: str) -> None:
    if ONCE.get(property_name, env_id) != env_id:
        pytest.skip(f"shown in {ONCE[property_name]}")
    check(env_id, name, property_name)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("env_id", "name", "property_name"), sample(product(filter(waits, ENVS.ids()), PERTURBATIONS.ids(), WORDED))
)
def test_a_perturbed_blocking_environment_has_property(env_id: str, name: str, property_name: str) -> None:
    check(env_id, name, property_name)


@pytest.mark.parametrize("env_id", [each for each in IDS if not waits(each)])
def test_all_perturbations_work_together(env_id: str) -> None:
    every: dict[str, dict[str, Any]] = {name: {} for name in PERTURBATIONS.ids()}  # Any: each one's own
    env = registry.make(env_id, perturb=every)
    for task, seed in subject(env_id, "rename").episodes(32):
        assert list(play(env, task, seed, oracle(env.meta.oracles[0])))[-1].info["success"]
        assert [frame.text for frame in play(env, task, seed, wander(seed), 5)] == [
            frame.text for frame in play(registry.make(env_id, perturb=[*every]), task, seed, wander(seed), 5)
        ]


@pytest.mark.parametrize(
    "env_id",
    [*(each for each in IDS if not waits(each)), *sampled_params([each for each in IDS if waits(each)], parts=4)],
)
def test_old_names_are_refused_and_every_new_one_is_understood(env_id: str) -> None:
    env = perturbed(env_id, "rename")
    (rename,) = env._perturbations
    assert isinstance(env.plain, Rephrasable)
    commands = env.plain.command_names()
    for task, seed in subject(env_id, "rename").episodes(16):
        _, info = env.reset(seed=seed, options={"task": task})
        offered: tuple[Mapping[str, Any], ...] = info["tools"]
        names = {tool["function"]["name"] for tool in offered}
        assert not names & set(commands)
        old = [rename.to_env(action) for action in info["admissible_actions"] or ()][:3]
        old += ['{"name": "%s", "arguments": {}}' % name for name in list(commands)[:3] if names]  # noqa: UP031
        for action in old:
            before = env.anchor()
            _, _, terminated, _, after = env.step(action)
            assert not terminated
            assert after["anchor"] == before or not env.meta.is_deterministic
            env.reset(seed=seed, options={"task": task})


def test_command_names_are_in_lower_case() -> None:
    for env_id in ENVS.ids():
        try:
            env = plain(env_id)
        except NOT_HERE:
            continue
        commands = env.command_names() if isinstance(env, Rephrasable) else {}
        assert all(name == name.lower() for names in commands.values() for name in names)
