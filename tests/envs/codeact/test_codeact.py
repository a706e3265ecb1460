"""Programs act in an environment: rewards and texts of their steps, leftovers of programs, and limits."""

from __future__ import annotations

import json
import random
from dataclasses import replace
from typing import Any

import pytest

from cairn.agents.evaluation.jobs import play_tasks
from cairn.core.errors import ConfigError, UnknownNameError
from cairn.core.records import function_schema
from cairn.envs.base import EnvMeta, Outcome, TextEnv
from cairn.envs.checker import check_property
from cairn.envs.codeact.env import CodeActEnv
from cairn.envs.codeact.program import described, parameters_of
from cairn.envs.properties.subject import Subject
from cairn.envs.registry import make, register

LEDGER = "tests.envs.codeact.test_codeact:Ledger"
DOORS = "examples.doors:Doors"


class Ledger(TextEnv):
    """Pay 10 in parts; every coin earns a tenth of it. Chance draws the name of the clerk."""

    meta = EnvMeta(
        name="ledger",
        version=7,
        turn_limit=8,
        reward_range=(0, 1),
        summary="Pay 10.",
        is_deterministic=True,
        oracles=("payer", "saver"),
        can_snapshot=True,
        parts=("even", "odd"),
        channels=("coins",),
    )

    def tasks(self) -> list[str]:
        return ["a", "b"]

    def start(self, task_id: str, rng: random.Random) -> str:
        self.paid = 0
        return f"Clerk {rng.randrange(10**9)} wants 10."

    def act(self, action: str) -> Outcome:
        if action.startswith("{"):
            said = json.loads(action)
            action = f"pay {said['arguments']['coins']}" if said["name"] == "pay" else "?"
        coins = int(action[4:]) if action.startswith("pay ") and action[4:].isdigit() else 0
        coins = min(coins, 10 - self.paid)
        self.paid += coins
        is_paid = self.paid == 10
        return Outcome(
            f"Paid {self.paid}.",
            reward=coins / 10,
            terminated=is_paid,
            success=is_paid,
            score=self.paid / 10,
            channels={"coins": float(coins), "even": coins // 2 * 2 / 10, "odd": coins % 2 / 10},
        )

    def state(self) -> bytes:
        return bytes([self.paid])

    def admissible(self) -> tuple[str, ...]:
        return tuple(f"pay {coins}" for coins in range(1, 11 - self.paid))

    def tools(self) -> tuple[Any, ...]:
        pay = {"coins": {"type": "integer"}, "why": {"type": "string"}}
        return (function_schema("pay", "Pay so many.", pay, ["coins"]), function_schema("not-a-name", "", {}, []))

    def oracle_action(self, name: str) -> str:
        return "pay 10" if name == "payer" else "pay 5"

    def save_state(self) -> int:
        return self.paid

    def load_state(self, saved: int) -> None:
        self.paid = saved


def program_env(of: str = LEDGER, **config: Any) -> CodeActEnv:
    env = make("codeact", of=of, **config)
    assert isinstance(env, CodeActEnv)
    return env


def test_rewards_add_up_and_the_last_step_and_the_printed_text_are_shown(env: CodeActEnv) -> None:
    text, reward, terminated, truncated, info = env.step(
        "for coins in (1, 2):\n    print(act(f'pay {coins}'))\nact('pay 4')"
    )
    assert text == "Paid 1.\nPaid 3.\n[actions taken: 3; the last one showed]\nPaid 7."
    assert reward == pytest.approx(0.7)  # 0.1 + 0.2 + 0.4
    assert (terminated, truncated, info["score"], info["success"]) == (False, False, 0.7, False)
    assert info["channels"] == {"coins": 4.0, "even": pytest.approx(0.6), "odd": pytest.approx(0.1)}  # 1 + 2 + 4
    text, reward, terminated, truncated, info = env.step("act('pay 3')")
    assert text == "[nothing printed]\n[actions taken: 1; the last one showed]\nPaid 10."
    assert (terminated, truncated, info["success"], info["score"]) == (True, False, True, 1.0)
    assert reward == pytest.approx(0.3)


def test_a_program_without_a_step_changes_nothing(env: CodeActEnv) -> None:
    env.step("act('pay 2')")
    before = env.anchor()
    for program, text in (
        ("print(6 * 7)", "42\n[no action taken]"),
        ("6 * 7", "[nothing printed]\n[no action taken]"),
        (" \n", "[not run: the program is empty]\n[no action taken]"),
        ("#" * 40_000, "[not run: a program may have 32768 characters]\n[no action taken]"),
    ):
        said, reward, terminated, _, info = env.step(program)
        assert (said, reward, terminated, info["score"], info["channels"]) == (
            text,
            0.0,
            False,
            0.2,
            {"even": 0.0, "odd": 0.0},
        )
    assert env.anchor() == before


def test_errors_of_a_program_are_shown_and_its_steps_count(env: CodeActEnv) -> None:
    text, reward, *_ = env.step("act('pay 5')\n1 / 0\nact('pay 5')")
    assert "ZeroDivisionError" in text
    assert text.endswith("[actions taken: 1; the last one showed]\nPaid 5.")
    assert reward == pytest.approx(0.5)
    text, *_ = env.step("this is no Python")
    assert "SyntaxError" in text
    text, *_ = env.step("act(5)")
    assert "An action is text, got int" in text


def test_the_episode_is_the_one_that_the_environment_has_by_itself(env: CodeActEnv) -> None:
    with make(LEDGER) as alone:
        text, _ = alone.reset(seed=5, options={"task": "b"})
        inside, _ = env.reset(seed=5, options={"task": "b"})
        assert inside.endswith(f"\n\n{text}")
        other, _ = env.reset(seed=6, options={"task": "b"})
        assert not other.endswith(text)
        assert env.tasks() == alone.tasks()
    assert (env.meta.version, env.meta.reward_range, env.turn_limit) == (1007, (0, 1), 8)
    assert CodeActEnv.meta.version == 1  # of the class


def test_functions_are_named_after_the_tools(env: CodeActEnv) -> None:
    first, _ = env.reset(seed=0, options={"task": "a"})
    assert "\npay(coins, why=...): Pay so many.\n" in first
    assert "not-a-name" not in first
    text, reward, *_ = env.step("print(pay(1), pay(coins=2, why='x'))")
    assert text.partition("\n")[0] == "Paid 1. Paid 3."
    assert reward == pytest.approx(0.3)
    for call, error in (("pay(1, 2, 3)", "takes 2 arguments"), ("pay(1, coins=2)", "got coins twice")):
        assert error in env.step(call)[0]
    assert "['pay 1', 'pay 2', 'pay 3', 'pay 4', 'pay 5', 'pay 6', 'pay 7']" in env.step("print(actions())")[0]


def test_tools_are_described_with_required_arguments_first() -> None:
    schema = function_schema("f", "", {"a": {}, "b": {}}, ["b"])
    assert parameters_of([schema, function_schema("class", "", {}, [])]) == {"f": ["b", "a"]}
    assert described([schema]) == ["f(b, a=...)"]


def test_a_call_of_the_tool_holds_a_program(env: CodeActEnv) -> None:
    (tool,) = env.tools()
    assert tool["function"]["name"] == "run_program"
    call = json.dumps({"name": "run_program", "arguments": {"program": "act('pay 3')"}})
    assert env.step(call)[1] == pytest.approx(0.3)
    for other in (
        '{"name": "other", "arguments": {"program": "act(\'pay 1\')"}}',
        '{"name": "run_program"}',
        "{'a': 1}",
    ):
        assert env.step(other)[1] == 0.0  # a program that is a dictionary


def test_nothing_of_a_program_is_left_for_the_next(env: CodeActEnv) -> None:
    env.step(
        "import os, json\nx = 1\njson.x = 1\nopen('file', 'w').write('x')\nopen('/tmp/file', 'w').write('x')\n"
        "act = None\nif os.fork() == 0:\n    os.setsid()\n    import time\n    time.sleep(600)"
    )
    assert env._sessions.session is not None
    assert env._sessions.session.list_files() == ()  # at once, and not when the next one comes
    text, *_ = env.step(
        "import os, json\nprint('x' in globals(), hasattr(json, 'x'), os.listdir('.'), os.listdir('/tmp'))\n"
        "print(sum(name.isdigit() for name in os.listdir('/proc')))\nprint(callable(act))"
    )
    first, processes, callable_, *_ = text.split("\n")
    assert (first, callable_) == ("False False [] []", "True")
    alone, *_ = env.step("import os\nprint(sum(name.isdigit() for name in os.listdir('/proc')))")
    assert alone.split("\n")[0] == processes


def test_equal_states_have_equal_anchors_after_different_programs(env: CodeActEnv) -> None:
    def anchor(*programs: str) -> int:
        env.reset(seed=0, options={"task": "a"})
        for program in programs:
            env.step(program)
        return env.anchor()

    assert anchor("act('pay 3')") == anchor("act('pay 1')", "print('x'); act('pay 2')")
    assert anchor("act('pay 3')") != anchor("act('pay 2')")
    assert anchor("act('look')") == anchor()


def test_a_program_that_takes_too_many_steps_gets_an_error(env: CodeActEnv) -> None:
    with program_env(most_steps=2) as few:
        few.reset(seed=0, options={"task": "a"})
        text, reward, _, truncated, _ = few.step("for _ in range(3):\n    act('pay 1')")
        assert "CallError: A program may take 2 actions" in text
        assert reward == pytest.approx(0.2)
        assert not truncated
        assert few.step("act('pay 1')")[1] == pytest.approx(0.1)


def test_the_turns_of_the_environment_bound_those_of_its_programs(env: CodeActEnv) -> None:
    text, _, terminated, truncated, _ = env.step("for _ in range(9):\n    act('look')")  # it has 8 turns
    assert "CallError: No turn of the environment is left" in text
    assert (terminated, truncated) == (False, True)
    env.reset(seed=0, options={"task": "a"})
    assert not env.step("act('look')")[3]


def test_an_environment_that_judges_its_last_turn_ends_the_task() -> None:
    with program_env(of="code", settings={"kind": "repair", "turn_limit": 2}) as env:
        env.reset(seed=0, options={"task": "repair/bank-3"})
        _, reward, terminated, truncated, info = env.step("for _ in range(2):\n    act('list_files')")
        assert (terminated, truncated) == (True, False)
        assert 0 < reward == info["score"] == info["channels"]["submission"] < 1


def test_its_own_turns_are_limited_too() -> None:
    with program_env(turn_limit=2) as env:
        env.reset(seed=0, options={"task": "a"})
        assert [env.step("pass")[3] for _ in range(2)] == [False, True]


def test_a_snapshot_has_the_environment_inside(env: CodeActEnv) -> None:
    env.step("act('pay 2')")
    kept, anchor = env.snapshot(), env.anchor()
    assert env.step("for _ in range(9):\n    act('look')")[3]
    env.restore(kept)
    assert env.anchor() == anchor
    _, reward, _, truncated, info = env.step("act('pay 1')")
    assert (truncated, info["score"]) == (False, 0.3)
    assert reward == pytest.approx(0.1)


def test_a_sandbox_that_dies_is_replaced_before_the_next_program(env: CodeActEnv) -> None:
    env.step("act('pay 1')")
    assert env._sessions.session is not None
    env._sessions.session._place.close()
    assert env.step("act('pay 1')")[4]["score"] == 0.2


def test_oracles_win_by_programs_and_any_agent_plays_by_configuration() -> None:
    report, episodes = play_tasks("oracle", "codeact", config={"of": DOORS}, tasks=3)
    assert (report.success.successes, report.failed) == (3, 0)
    assert [turn.action for turn in episodes[0].turns] == ["act('take key')", "act('open amber')"]


def test_the_first_oracle_has_a_name_that_every_such_environment_has(env: CodeActEnv) -> None:
    assert env.meta.oracles == ("inside", "saver")
    assert (env.oracle(), env.oracle("inside"), env.oracle("saver")) == ("act('pay 10')",) * 2 + ("act('pay 5')",)
    with pytest.raises(UnknownNameError):
        env.oracle("payer")


def test_an_unknown_environment_or_setting_is_refused() -> None:
    with pytest.raises(UnknownNameError, match="household"):
        make("codeact", of="houshold")
    with pytest.raises(ConfigError, match="sise"):
        make("codeact", of="household", settings={"sise": "tiny"})


class Steady(CodeActEnv):
    """Declares that its programs read no clock and draw no numbers, so that the properties can be measured."""

    @classmethod
    def declare(cls, config: Any) -> EnvMeta:
        return replace(super().declare(config), is_deterministic=True)


@pytest.mark.parametrize("name", ["anchors", "channels", "replay", "snapshot"])
def test_anchors_keep_the_properties_under_programs_without_chance(name: str) -> None:
    register("codeact-steady", Steady)
    report = check_property(name, Subject("codeact-steady", config={"of": LEDGER}, share=1 / 16))
    assert report.holds, report.detail
