"""Agents that are Python code: functions, async functions and classes, with the results that models would have."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

import cairn
from cairn.agents.agent import load_agent
from cairn.agents.code_agent import is_code
from cairn.agents.evaluation.evaluate import Evaluation
from cairn.agents.evaluation.jobs import play_tasks
from cairn.agents.evaluation.panel import make_panel
from cairn.cli.main import app
from cairn.core.errors import CairnError, ConfigError
from tests.agents.evaluation.test_panel import DOORS, part

Info = dict[str, Any]


def reader(observation: str, info: Info) -> str:
    """Play as the oracle does: it keeps no state, and reads the note's colour off the task's id."""
    colour = info["task_id"].split("-")[0]
    return f"open {colour}" if f"open {colour}" in info["admissible_actions"] else "take key"


async def async_reader(observation: str, info: Info) -> str:
    await asyncio.sleep(0.001)
    return reader(observation, info)


class Remembers:
    """Reads the note, and remembers its colour."""

    def reset(self, observation: str, info: Info) -> None:
        assert info["turn"] == 0
        self.colour = observation.split(":")[1].split(".")[0].strip()

    def act(self, observation: str, info: Info) -> str:
        return f"open {self.colour}" if "You have the key" in observation else "take key"


class AsyncRemembers(Remembers):
    async def act(self, observation: str, info: Info) -> str:  # type: ignore[override]  # the async kind
        await asyncio.sleep(0)
        return super().act(observation, info)


class CallableObject:
    def __call__(self, observation: str, info: Info) -> str:
        return reader(observation, info)


AGENTS: dict[str, Any] = {
    "function": reader, "async function": async_reader, "class": Remembers, "async class": AsyncRemembers,
    "object": CallableObject(), "address": f"{__name__}:reader", "address of a class": f"{__name__}:Remembers",
}  # fmt: skip


@pytest.fixture
def play(tmp_path: Path) -> Callable[..., Evaluation]:
    def played(agent: Any, **options: Any) -> Evaluation:  # Any: as `evaluate` takes them
        return cairn.evaluate(agent, DOORS, tasks=6, root=tmp_path / "evals", **options)

    return played


@pytest.mark.parametrize("kind", AGENTS)
def test_every_kind_of_agent_is_evaluated_on_a_panel_with_the_results_of_equal_play(kind: str, tmp_path: Path) -> None:
    panel = make_panel("two-doors", "", [part(), part(family="quick", config={"turn_limit": 3})])
    found = cairn.evaluate(AGENTS[kind], panel=panel, root=tmp_path)
    oracle = cairn.evaluate("oracle", panel=panel, root=tmp_path)
    measures = [[replace(each.measures, seconds=None) for each in result.parts] for result in (found, oracle)]
    assert measures[0] == measures[1]
    assert [each.digest for each in found.parts] == [each.digest for each in oracle.parts]
    assert found.played == 4


def test_an_agent_receives_only_the_info_that_a_policy_receives() -> None:
    seen: list[Info] = []

    def watches(observation: str, info: Info) -> str:
        seen.append(info)
        return "wait"

    play_tasks(watches, DOORS, tasks=1)
    assert [each["turn"] for each in seen] == list(range(6))
    assert set(seen[0]) == {"task_id", "turn", "admissible_actions", "tools"}
    assert seen[0]["admissible_actions"] == ("take key", "wait")


def raises(observation: str, info: Info) -> str:
    if info["task_id"].endswith("-1") and info["turn"] == 1:
        raise LookupError("no such door")
    return reader(observation, info)


def ends(observation: str, info: Info) -> str:
    raise SystemExit(3)


def says_nothing(observation: str, info: Info) -> str:
    return None  # type: ignore[return-value]  # the fault


def hangs(observation: str, info: Info) -> str:
    time.sleep(30)
    return "wait"


async def hangs_async(observation: str, info: Info) -> str:
    await asyncio.sleep(30)
    return "wait"


@pytest.mark.parametrize(
    ("agent", "error"),
    [
        (ends, "SystemExit: 3"),
        (says_nothing, "TypeError: it must return the action as text, got None"),
        (hangs, "it took longer than 0.1 s"),
        (hangs_async, "it took longer than 0.1 s"),
    ],
)
def test_an_agent_that_fails_ends_its_episode_which_counts(
    play: Callable[..., Evaluation], agent: Any, error: str
) -> None:
    (found,) = play(agent, settings={"sampling": {"code": {"call_timeout_s": 0.1}}}).parts
    assert (found.measures.episodes, found.measures.excluded) == (6, 0)
    assert (found.measures.agent_errors, found.measures.first_agent_error) == (6, error)
    assert found.measures.success is not None
    assert found.measures.success.mean == 0.0


def test_episodes_ended_by_an_agent_error_count_with_their_current_score(
    play: Callable[..., Evaluation],
) -> None:
    (found,) = play(raises).parts
    assert (found.measures.agent_errors, found.measures.first_agent_error) == (1, "LookupError: no such door")
    assert found.measures.success is not None
    assert found.measures.success.mean == pytest.approx(5 / 6)


def test_a_late_answer_is_not_taken_for_that_of_a_later_turn() -> None:
    calls: list[str] = []

    def slow_once(observation: str, info: Info) -> str:
        calls.append(info["task_id"])
        if len(calls) == 1:
            time.sleep(0.4)
            return "never"
        time.sleep(0.15)
        return reader(observation, info)

    settings = {"sampling": {"code": {"call_timeout_s": 0.3}}}
    _, episodes = play_tasks(slow_once, DOORS, tasks=2, settings=settings)
    assert episodes[0].ending.cause == "agent"
    assert [turn.action for turn in episodes[1].turns] == ["take key", "open amber"]
    assert episodes[1].success


def test_an_object_of_a_class_plays_one_episode_at_a_time() -> None:
    playing: dict[int, str] = {}
    lock = threading.Lock()

    class Alone:
        def act(self, observation: str, info: Info) -> str:
            with lock:
                assert playing.setdefault(id(self), info["task_id"]) == info["task_id"] or info["turn"] == 0
                playing[id(self)] = info["task_id"]
            return reader(observation, info)

    report, _ = play_tasks(Alone, DOORS, tasks=60)
    assert report.success.successes == 60
    assert 1 < len(playing) <= 16


def test_a_plain_function_is_not_called_twice_at_once() -> None:
    busy = threading.Lock()

    def alone(observation: str, info: Info) -> str:
        assert busy.acquire(blocking=False)
        time.sleep(0.002)
        busy.release()
        return reader(observation, info)

    assert play_tasks(alone, DOORS, tasks=12)[0].success.successes == 12


def test_async_agents_wait_together() -> None:
    async def waits(observation: str, info: Info) -> str:
        await asyncio.sleep(0.1)
        return reader(observation, info)

    began = time.monotonic()
    assert play_tasks(waits, DOORS, tasks=16)[0].success.successes == 16
    assert time.monotonic() - began < 16 * 2 * 0.1 / 2  # one after the other they take 3.2 s


def test_the_same_agent_is_not_evaluated_twice_and_a_changed_one_is(
    play: Callable[..., Evaluation], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "mine_once.py"
    file.write_text("def act(observation, info):\n    return 'wait'\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    assert (play("mine_once:act").played, play("mine_once:act").played) == (6, 0)
    file.write_text("def act(observation, info):\n    return 'take key'\n")
    assert play("mine_once:act").played == 6


def no_arguments() -> str:
    return ""


class NoAct:
    pass


@pytest.mark.parametrize(
    ("agent", "why"),
    [
        (no_arguments, "no_arguments must take an observation and an info: too many positional arguments"),
        (NoAct, r"has no method act\(observation, info\)"),
        (f"{__name__}:AGENTS", "expected a function"),
        (f"{__name__}:nothing", "has no 'nothing'"),
        ("no_such_module:act", "Unknown agent 'no_such_module'"),
        (7, "Expected the name of an agent or of a folder, a function or a class, got 7"),
    ],
)
def test_an_invalid_agent_is_rejected(agent: Any, why: str) -> None:
    with pytest.raises(CairnError, match=why):
        load_agent(agent)
    with pytest.raises(ConfigError, match=r"no setting agent\.constrain"):
        load_agent(reader, {"agent": {"constrain": True}})


def test_names_of_other_agents_are_not_addresses() -> None:
    for name in ("oracle:reader", "constant:look", "random"):
        assert load_agent(name).sampling.method == "scripted"
    assert not is_code("no_such_module:act")
    assert is_code("__main__:act")


def test_on_the_command_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    ended = CliRunner().invoke(app, ["eval", DOORS, "--agent", f"{__name__}:raises", "--tasks", "6"])
    assert ended.exit_code == 0, ended.output
    said = " ".join(ended.output.split())
    assert "1 of 6 episodes ended because the agent failed, and count as they stood: LookupError: no such door" in said


def test_the_number_of_slots_follows_the_setting() -> None:
    assert load_agent(reader).sampling.slots == 1
    assert load_agent(Remembers).sampling.slots == 16
    assert load_agent(reader, {"sampling": {"slots": 4}}).sampling.slots == 4
