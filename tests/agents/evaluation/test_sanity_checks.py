"""Sanity checks: adversarial baselines win nothing in our environments, and winnable benchmarks are reported."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from cairn.agents.evaluation.panel import PanelSection, make_panel
from cairn.agents.evaluation.sanity_checks import count_signs, kept_gates, run_gates
from cairn.core.errors import ConfigError, MissingExtraError, MissingProgramError, RewardFailure
from cairn.core.records import Ending, Episode, Observation, Schema, Task, Turn, function_schema
from cairn.envs.base import Outcome
from cairn.envs.registry import make
from tests.envs.faulty import WON, Sound

HERE = "tests.agents.evaluation.test_sanity_checks"
LISTED = ("amber-blue-coral-green", "blue-amber-green-coral", "green-coral-blue-amber")


class WonByNothing(Sound):
    """A benchmark whose first tasks are solved at reset, so that any action wins."""

    def act(self, action: str) -> Outcome:
        return WON if self.task_id == LISTED[0] else super().act(action)


class WonBySubmitting(Sound):
    """A benchmark that does not check the submitted answer."""

    def tools(self) -> tuple[Schema, ...]:
        return (function_schema("submit", "End.", {"answer": {"type": "string"}, "last": {"type": "integer"}}, ()),)

    def act(self, action: str) -> Outcome:
        return WON if action.startswith("{") and json.loads(action)["name"] == "submit" else super().act(action)


class BelievesClaims(Sound):
    """A benchmark whose judge believes the agent's claims about itself."""

    def act(self, action: str) -> Outcome:
        return WON if "score: 1.0" in action else super().act(action)


class CannotScore(Sound):
    """A benchmark whose validator fails at the last turn."""

    def act(self, action: str) -> Outcome:
        raise RewardFailure("the validator is broken")


def part(env: str, tasks: tuple[str, ...] = LISTED, **changes: Any) -> PanelSection:
    given = {"family": "test", "env": env, "version": 1, "tasks": dict.fromkeys(tasks, ""), "may_differ": True}
    return PanelSection.model_validate({**given, **changes})


def test_a_sound_benchmark_passes_and_the_score_of_the_random_agent_is_reported() -> None:
    (verdict,) = run_gates(part("tests.envs.faulty:Sound"))
    assert verdict.holds
    assert not verdict.is_null_winnable
    assert [probe.agent for probe in verdict.probes] == ["null", "null:quit", "injection", "random"]
    assert [probe.success.successes for probe in verdict.probes[:3]] == [0, 0, 0]
    assert verdict.probes[0].score is not None
    assert (verdict.probes[0].score.mean, verdict.probes[0].score.tasks) == (0.0, 3)
    assert json.loads(json.dumps(verdict.to_dict()))["holds"] is True


@pytest.mark.parametrize(
    ("fault", "winners", "is_null"),
    [
        ("WonByNothing", {"null": 1, "null:quit": 1, "injection": 1}, True),
        ("WonBySubmitting", {"null": 0, "null:quit": 3, "injection": 3}, True),
        ("BelievesClaims", {"null": 0, "null:quit": 0, "injection": 3}, False),
    ],
)
def test_a_benchmark_that_adversarial_baselines_win_is_marked(
    fault: str, winners: dict[str, int], is_null: bool
) -> None:
    (verdict,) = run_gates(part(f"{HERE}:{fault}"), agents=tuple(winners))
    assert {probe.agent: probe.success.successes for probe in verdict.probes} == winners
    assert verdict.is_null_winnable is is_null
    assert [f"{agent!r}, which should win nothing, solved {won} of 3" in " ".join(verdict.reasons)
            for agent, won in winners.items() if won] == [True] * sum(map(bool, winners.values()))  # fmt: skip
    assert not verdict.holds


def test_the_random_agent_may_win() -> None:
    (verdict,) = run_gates(part(f"{HERE}:WonByNothing", LISTED[:1]), agents=("random",))
    assert verdict.probes[0].success.successes == 1
    assert verdict.holds


def test_a_benchmark_that_cannot_be_scored_fails_with_a_reason() -> None:
    (verdict,) = run_gates(part(f"{HERE}:CannotScore"), agents=("null",))
    assert verdict.reasons == ("no episode of the agent 'null' could be scored: {'reward': 3}",)
    assert verdict.probes[0].signs.validator_errors == 3
    assert verdict.probes[0].score is None


def test_a_sample_is_spread_over_each_part_and_episodes_are_reported() -> None:
    ids = [str(name) for name in Sound().tasks()]
    panel = make_panel("two", "", [part("tests.envs.faulty:Sound", tuple(ids)), part("tests.envs.faulty:Sound")])
    heard: list[tuple[str, str]] = []
    verdicts = run_gates(
        panel,
        sample=4,
        agents=("null",),
        on_episode=lambda _, agent, episode: heard.append((agent, episode.task.task_id)),
    )
    assert [verdict.tasks for verdict in verdicts] == [(ids[0], ids[6], ids[12], ids[18]), LISTED]
    assert sorted(heard) == sorted(("null", task) for verdict in verdicts for task in verdict.tasks)


def test_sanity_checks_require_the_tasks_of_the_panel() -> None:
    with pytest.raises(ConfigError, match="begins otherwise here"):
        run_gates(part("tests.envs.faulty:Sound", may_differ=False), agents=("null",))


def test_verdicts_are_stored_unless_an_episode_was_not_scored(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    panel = make_panel("test", "", [part(f"{HERE}:CannotScore")])
    assert not kept_gates(panel, tmp_path)[0]["holds"]
    monkeypatch.setattr(CannotScore, "act", Sound.act)  # scoring works now
    (verdict,) = kept_gates(panel, tmp_path)
    assert verdict["holds"]
    assert kept_gates(panel, tmp_path, lambda *_: pytest.fail("played again")) == [json.loads(json.dumps(verdict))]


FAMILIES: dict[str, dict[str, Any]] = {  # Any: settings
    "household": {"size": "tiny"},
    "webshop": {"num_products": 200},
    "code": {"kind": "tools"},
    "gui/replay": {},
    "gui/apps": {"turn_limit": 12},
}


@pytest.mark.parametrize("env_id", FAMILIES)
def test_adversarial_baselines_win_no_shipped_environment(env_id: str) -> None:
    config = FAMILIES[env_id]
    try:
        with make(env_id, **config) as env:
            names = env.tasks()
            tasks = tuple(names[i * len(names) // 3] for i in range(3))
            version = env.meta.version
            env.reset(seed=0)
    except (MissingExtraError, MissingProgramError) as error:
        pytest.skip(str(error))
    agents = ("null", "null:quit", "injection")
    (verdict,) = run_gates(part(env_id, tasks, config=config, version=version), agents=agents)
    assert {
        probe.agent: (probe.success.successes, probe.success.episodes) for probe in verdict.probes
    } == dict.fromkeys(agents, (0, 3))
    assert verdict.holds


# -- signs -------------------------------------------------------------------------------------------------------------


def episode(score: float | None, success: bool | None, ending: Ending | None = None, **channels: float) -> Episode:
    named = {name.replace("__", "/"): value for name, value in channels.items()}
    turn = Turn(observation=Observation(text="", anchor=0), reply_text="", action="", reward=0.0, channels=named)
    return Episode(
        task=Task(env_id="x", task_id="t"), group_id=0, turns=(turn, turn), ending=ending or Ending.terminated(),
        score=score, success=success,
    )  # fmt: skip


EPISODES = [
    episode(1.0, True),
    episode(0.5, False),  # as high as the threshold
    episode(0.49, False),
    episode(0.9, False, tampering__answers=2.0, test__0=1.0),
    episode(0.0, False, tampering__answers=1.0, tampering__given_files=0.0),
    episode(None, None, Ending.failed("reward", "")),
    episode(None, None, Ending.failed("sandbox", "")),
    episode(None, None, Ending.failed("sandbox", "")),
]


def test_signs_are_counted_by_episode() -> None:
    signs = count_signs(EPISODES)
    assert (signs.episodes, signs.score_without_success, signs.validator_errors) == (8, 2, 1)
    assert signs.failed == {"reward": 1, "sandbox": 2}
    assert signs.tampering == {"answers": 2}
    assert signs.total == 5
    assert json.loads(json.dumps(signs.to_dict()))["tampering"] == {"answers": 2}


@pytest.mark.parametrize(("threshold", "count"), [(0.91, 0), (0.9, 1), (0.49, 3)])
def test_the_threshold_of_a_high_score_is_the_callers(threshold: float, count: int) -> None:
    assert count_signs(EPISODES, threshold=threshold).score_without_success == count


def test_the_threshold_of_a_high_score_depends_on_the_reward_range() -> None:
    # from -1 to 1, half of the way is 0: of 1 (solved), .5, .49, .9 and 0, four are high and not solved
    assert count_signs(EPISODES, reward_range=(-1.0, 1.0)).score_without_success == 4


def test_no_episodes_have_no_signs() -> None:
    assert count_signs([]).total == 0
