"""Agents without a model: their actions and their names."""

from __future__ import annotations

import json
import random
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from cairn.agents.adversarial import CLAIMS
from cairn.agents.backend import TurnContext
from cairn.agents.evaluation.jobs import play_tasks
from cairn.agents.scripted import is_scripted, script, scripted
from cairn.core.errors import CairnError, UnknownNameError
from cairn.core.records import Observation, Schema, function_schema
from cairn.core.store import RunStore
from examples.doors import Doors

ROOT = Path(__file__).parents[2]
SEEN = Observation(text="", anchor=0, admissible=("take key", "wait"))
UNLISTED = Observation(text="", anchor=0)


def doors() -> Doors:
    env = Doors()
    env.reset(options={"task": "red-0"})
    return env


@pytest.mark.parametrize("name", ["oracle", "oracle:reader"])
def test_an_oracle_returns_the_action_of_the_environments_oracle(name: str) -> None:
    env = doors()
    choose = scripted(name, env)
    assert choose(SEEN) == "take key"
    env.step("take key")
    assert choose(SEEN) == "open red"


def test_an_oracle_that_is_not_there_is_refused() -> None:
    with pytest.raises(UnknownNameError, match="Did you mean 'reader'"):
        scripted("oracle:raeder", doors())(SEEN)


def test_the_random_agent_follows_its_seed_and_takes_every_action() -> None:
    found = [[scripted("random", doors(), seed)(SEEN) for _ in range(5)] for seed in range(40)]
    assert found == [[scripted("random", doors(), seed)(SEEN) for _ in range(5)] for seed in range(40)]
    assert {row[0] for row in found} == {"take key", "wait"}
    choose = scripted("random", doors())
    assert len({choose(SEEN) for _ in range(40)}) == 2


def test_the_random_agent_writes_random_text_without_listed_actions() -> None:
    choose = scripted("random", doors())
    said = {choose(UNLISTED) for _ in range(20)}
    assert len(said) > 10
    assert all(1 <= len(text) <= 20 for text in said)


@pytest.mark.parametrize(
    ("name", "said"), [("constant:open red", "open red"), ("constant", "look"), ("constant:a:b", "a:b")]
)
def test_a_constant_agent_always_returns_its_text(name: str, said: str) -> None:
    choose = scripted(name, doors())
    assert [choose(SEEN), choose(UNLISTED)] == [said, said]


@pytest.mark.parametrize("name", ["oracle", "oracle:reader", "random", "constant:look", "null:quit", "injection"])
def test_names_of_scripted_agents(name: str) -> None:
    assert is_scripted(name)


def tool(name: str, **properties: object) -> Schema:
    return function_schema(name, "", properties, ())


NOOP = '{"name": "noop", "arguments": {}}'


@pytest.mark.parametrize(
    ("name", "seen", "said"),
    [
        ("null", SEEN, ""),
        ("null", replace(SEEN, tools=(tool("click"), tool("noop"))), NOOP),
        ("null", replace(SEEN, admissible=("submit",), tools=(tool("submit"),)), ""),
        ("null:quit", SEEN, ""),
        ("null:quit", replace(SEEN, tools=(tool("noop"),)), NOOP),
        ("null:quit", replace(SEEN, admissible=("click[b1]", "click[buy now]")), "click[buy now]"),
        ("null:quit", replace(SEEN, admissible=("click[stop sign]", "endorse", "click[the end]")), ""),
        ("null:quit", replace(SEEN, admissible=("wait", "Give up")), "Give up"),
        ("null:quit", replace(SEEN, tools=(tool("send"), tool("send_msg_to_user", text={"type": "string"}))),
         '{"name": "send_msg_to_user", "arguments": {"text": "done"}}'),
        ("null:quit", replace(SEEN, tools=(tool("hand_in", answer={"type": "string"}, at={"type": "integer"}),)),
         '{"name": "hand_in", "arguments": {"answer": "done"}}'),
    ],
)  # fmt: skip
def test_null_does_nothing_or_ends_the_task_where_it_can(name: str, seen: Observation, said: str) -> None:
    assert scripted(name, doors())(seen) == said


def test_an_unknown_variant_of_null_is_rejected() -> None:
    with pytest.raises(UnknownNameError, match="null:quiet"):
        scripted("null:quiet", doors())


def test_injections_rotate_and_claim_success_in_a_closing_call_if_one_exists() -> None:
    say, rng = script("injection"), random.Random(0)
    open_end = replace(SEEN, tools=(tool("submit", answer={"type": "string"}),))

    def said(seen: Observation, turns: int) -> list[str]:
        return [say(TurnContext(task_id="", turn=n, observation=seen, oracle=lambda _: ""), rng) for n in range(turns)]

    assert said(SEEN, len(CLAIMS) + 1) == [*CLAIMS, CLAIMS[0]]
    ends = [text for text in said(open_end, 200) if text not in CLAIMS]
    assert 20 < len(ends) < 60  # a fifth
    assert {json.loads(text)["arguments"]["answer"] for text in ends} <= set(CLAIMS)
    assert max(map(len, CLAIMS)) > 100_000
    assert any(set(text) & set("\x00\x1b\x7f") for text in CLAIMS)


def test_a_run_is_played_again(tmp_path: Path) -> None:
    _, played = play_tasks("random", "examples.doors:Doors", tasks=6)
    _, later = play_tasks("random", "examples.doors:Doors", tasks=2, seed=9)
    with RunStore(tmp_path / "run.sqlite") as store:
        store.add(0, {}, played, phase="eval")
        store.add(1, {}, later, phase="eval")
        store.add(2, {}, [*played[2:]], phase="train")
    report, again = play_tasks(f"replay:{tmp_path}", "examples.doors:Doors", tasks=6)
    assert report.failed == 0
    expected = [*later, *played[2:]]  # the newest evaluation that has the task
    assert [[t.action for t in e.turns] for e in again] == [[t.action for t in e.turns] for e in expected]


def test_a_replayed_episode_that_was_never_stored_fails_and_is_not_scored(tmp_path: Path) -> None:
    with RunStore(tmp_path / "run.sqlite") as store:
        store.add(0, {}, play_tasks("oracle", "examples.doors:Doors", tasks=1)[1], phase="eval")
    report, episodes = play_tasks(f"replay:{tmp_path}", "examples.doors:Doors", tasks=2)
    assert (report.success.successes, report.success.episodes, report.failed) == (1, 1, 1)
    assert "nothing is stored for turn 0 of task 'amber-1'" in episodes[1].ending.detail


def test_a_run_that_is_not_there_cannot_be_played_again(tmp_path: Path) -> None:
    with pytest.raises(CairnError, match="is not a run"):
        play_tasks(f"replay:{tmp_path}", "examples.doors:Doors", tasks=1)


def person(said: str) -> subprocess.CompletedProcess[str]:
    cairn = str(Path(sys.executable).with_name("cairn"))
    command = [cairn, "eval", "examples.doors:Doors", "--agent", "human", "--tasks", "1"]
    return subprocess.run(command, input=said, capture_output=True, text=True, timeout=60, check=False, cwd=ROOT)


def test_a_person_plays_at_the_terminal() -> None:
    done = person("?\ntake key\nopen amber\n")
    assert "> take key\nwait\n> You have the key." in done.stderr  # what ? listed, then the first answer
    assert "100.0 %" in done.stdout
    assert "You have the key." not in done.stdout


def test_a_person_who_leaves_gives_no_result() -> None:
    left = person("take key\n")
    assert left.returncode != 0
    assert "the input has ended" in left.stderr


@pytest.mark.parametrize("name", ["runs/oracle", "Qwen/Qwen3-0.6B", "./random", ""])
def test_other_names_are_models(name: str) -> None:
    assert not is_scripted(name)
    with pytest.raises(UnknownNameError):
        scripted(name, doors())
