"""Names are swapped in actions, calls, admissible actions, functions and texts about them; nowhere else."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

import pytest

import cairn
from cairn.core.errors import ConfigError
from cairn.core.records import Schema, function_schema
from cairn.envs.base import Outcome
from cairn.envs.gui.commands import rename_functions
from cairn.envs.perturbations.rename import Rename, RenameConfig
from cairn.envs.rephrasable import Rephrasable
from tests.envs.faulty import Sound


class Speaks(Rephrasable, Sound):
    """Repeats each received action, and has two commands with one other name each."""

    def command_names(self) -> Mapping[str, tuple[str, ...]]:
        return {"go to": ("walk",), "look": ("look around",)}

    def act(self, action: str) -> Outcome:
        return Outcome(f"help: go to, look\nsent: {action}")

    def admissible(self) -> tuple[str, ...]:
        return ("go to bed", "look")

    def tools(self) -> tuple[Schema, ...]:
        return (function_schema("look", "look around", {}, ()),)

    def rename_commands(self, text: str, rename: Callable[[str], str]) -> str:
        first, end, rest = text.partition("\n")
        return f"{rename(first)}{end}{rest}"


class NamesTwice(Speaks):
    def command_names(self) -> Mapping[str, tuple[str, ...]]:
        return {"go": ("walk",), "run": ("walk",)}


HERE = "tests.envs.perturbations.test_rename"


@pytest.fixture
def env() -> Any:
    made = cairn.make(f"{HERE}:Speaks", perturb="rename")
    made.reset(seed=0)
    return made


@pytest.mark.parametrize(
    ("said", "sent"),
    [
        ("walk bed", "go to bed"),
        ("  walk bed", "  go to bed"),
        ("go to bed", "walk bed"),
        ("look", "look around"),
        ("look around", "look"),
        ("look around the bed", "look the bed"),
        ("walks", "walks"),  # no name, but the beginning of a word
        ("then walk", "then walk"),
        ("", ""),
        ('{"name": "look around", "arguments": {"x": "walk"}}', '{"name": "look", "arguments": {"x": "walk"}}'),
        ('{"name": "sleep"}', '{"name": "sleep"}'),
        ('{"name": 3}', '{"name": 3}'),
        ('{"walk": 1', '{"walk": 1'),
        ("[" * 100_000, "[" * 4097),  # cut as everywhere
        ('{"a":' * 50_000, '{"a":' * 819 + '{"'),
    ],
)
def test_the_first_words_of_an_action_are_swapped(env: Any, said: str, sent: str) -> None:
    text, *_ = env.step(said)
    assert text == f"help: walk, look around\nsent: {sent}"


def test_offered_actions_and_tools_have_the_swapped_names(env: Any) -> None:
    assert env.admissible() == ("look around", "walk bed")
    (tool,) = env.tools()
    assert (tool["function"]["name"], tool["function"]["description"]) == ("look around", "look around")


def test_names_are_drawn_for_each_task_by_the_seed_alone() -> None:
    def drawn(seed: int, task: str) -> tuple[str, ...]:
        rename = Rename(RenameConfig(seed=seed), cairn.make("household"))
        rename.begin(task)
        return tuple(rename.to_agent(name) for name in ("go to", "open", "take", "move", "look"))

    found = {(seed, task): drawn(seed, task) for seed in range(4) for task in "abcd"}
    assert found == {key: drawn(*key) for key in found}
    assert len({found[0, task] for task in "abcd"}) > 1
    assert len({found[seed, "a"] for seed in range(4)}) > 1


@pytest.mark.parametrize(
    ("env", "reported"),
    [("tests.envs.faulty:Sound", "lists no command names"), (f"{HERE}:NamesTwice", "'walk' for two things")],
)
def test_an_environment_without_names_or_with_one_for_two_things_is_refused(env: str, reported: str) -> None:
    with pytest.raises(ConfigError, match=reported):
        cairn.make(env, perturb="rename")


def test_the_households_help_has_the_names_in_use_in_front_and_its_own_words_behind() -> None:
    env = cairn.make("household", size="tiny", perturb="rename")
    env.reset(options={"task": "gen-train/000000"})
    (asks,) = (name for name in ("show commands", "manual") if name in (env.admissible() or ()))
    lines = env.step(asks)[0].splitlines()
    assert [line.partition(":")[2].strip() for line in lines[1:4]] == [
        "look around your current location", "check your current inventory", "move to a receptacle",
    ]  # fmt: skip
    forms = [line.partition(":")[0].strip() for line in lines[1:]]
    assert not any(form.startswith(("go to", "inventory", "open", "take")) for form in forms)
    assert all(any(action.startswith(form.partition(" (")[0]) for form in forms) for action in env.admissible() or ()
               if action != asks)  # fmt: skip


def upper(text: str) -> str:
    return text.upper()


@pytest.mark.parametrize(
    ("text", "reported"),
    [
        ("Goal: press\n\nActions, one a turn, such as click('4')\n  fill(bid): Press.\n\nPage \"press\"\n  press(",
         "Goal: press\n\nACTIONS, ONE A TURN, SUCH AS CLICK('4')\n  FILL(bid): Press.\n\nPage \"press\"\n  press("),
        ("Error: There is no function 'x' here. Functions: y.\nclick",
         "ERROR: THERE IS NO FUNCTION 'X' HERE. FUNCTIONS: Y.\nclick"),
        ("Error: It is fill(bid, value); missing: value", "ERROR: IT IS FILL(bid, value); missing: value"),
        ("Error: The element is disabled: click.", "Error: The element is disabled: click."),
        ("In place of this, the recorded action was taken: fill('3', 'click')\nPage",
         "IN PLACE OF THIS, THE RECORDED ACTION WAS TAKEN: FILL('3', 'click')\nPage"),
        ("Page \"Actions, one a turn, \"\n  click(", "Page \"Actions, one a turn, \"\n  click("),
    ],
)  # fmt: skip
def test_of_pages_nothing_is_renamed(text: str, reported: str) -> None:
    assert rename_functions(text, upper) == reported


def test_programs_outputs_keep_their_words_and_mistakes_have_the_names_in_use() -> None:
    env = cairn.make("code", perturb="rename")
    text, info = env.reset(seed=0)
    names = {tool["function"]["name"] for tool in info["tools"]}
    reported = [line for line in text.splitlines() if line.startswith("  ")]
    assert names <= {line.strip().partition("\\n")[0].partition(" ")[0].rstrip(":") for line in reported}
    python = next(name for name in ("execute_python", "python_cell") if name in names)
    assert env.step(f"{python}\nprint('submit read_file {python}')")[0] == f"submit read_file {python}\n"
    said = env.step("run_python\nprint(1)")[0]
    assert said.startswith("Unknown tool 'run_python'. Tools: ")
    assert {name.rstrip(".") for name in said.partition("Tools: ")[2].split(", ")} == names
    assert env.step(json.dumps({"name": python, "arguments": {"code": "6 * 7"}}))[0] == "42\n"
    env.close()
