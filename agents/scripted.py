"""Agents without a model: an environment's oracle, random, constant, replay of a run, human.

Also the adversarial agents of the sanity checks (`agents.evaluation.sanity_checks`), which must not succeed: one does
nothing, one claims success.
"""

from __future__ import annotations

import random
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Protocol

from cairn.agents.adversarial import noop, prompt_injection, quit_action
from cairn.agents.backend import TurnContext
from cairn.agents.context.base import Prompt
from cairn.agents.forms.base import Parsed, plain
from cairn.agents.rollout.episode import PolicyInterface
from cairn.agents.rollout.play import Choose
from cairn.core.errors import CairnError, EnvironmentFailure, UnknownNameError
from cairn.core.records import Observation
from cairn.core.seeding import python_generator
from cairn.core.text import printable

KINDS = ("oracle", "random", "constant", "replay", "human", "null", "injection")

Script = Callable[[TurnContext, random.Random], str]  # turn context and random generator -> action


class HasOracle(Protocol):
    """An environment, or a pool's handle to one, with an oracle."""

    def oracle(self, name: str | None = None) -> str:
        """Return the named oracle's next action."""


def is_scripted(name: str) -> bool:
    """Return whether `name` is a scripted agent rather than a model."""
    return name.partition(":")[0] in KINDS


def script(name: str) -> Script:
    """Return the agent called `name`.

    Names: ``oracle``, ``oracle:NAME``, ``random``, ``constant:TEXT``, ``replay:RUN`` (a run's folder), ``human``;
    ``null``, ``null:quit`` (ends the task as soon as it can) and ``injection``, which must not succeed.

    Raises:
        UnknownNameError: no such agent.
        CairnError: there is no run to replay.
    """
    kind, _, argument = name.partition(":")
    makers: dict[str, Callable[[], Script]] = {
        "oracle": lambda: lambda context, _: context.oracle(argument or None),
        "random": lambda: lambda context, rng: _at_random(context.observation, rng),
        "constant": lambda: lambda context, rng: argument or "look",
        "replay": lambda: _Replay(Path(argument).expanduser()),
        "human": lambda: lambda context, _: _ask(context),
        "null": lambda: lambda context, _: _idle(context.observation, quits=argument == "quit"),
        "injection": lambda: lambda context, rng: prompt_injection(context.observation, context.turn, rng),
    }
    if kind not in makers or (kind == "null" and argument not in ("", "quit")):
        raise UnknownNameError("agent", name, makers, "cairn eval --help")
    return makers[kind]()


def scripted(name: str, env: HasOracle, seed: int = 0) -> Choose:
    """Return a chooser for episodes of `env` without an engine.

    It supports all agents that do not need the task.
    """
    answer, rng = script(name), python_generator("random agent", seed)
    return lambda observation: answer(TurnContext(task_id="", turn=0, observation=observation, oracle=env.oracle), rng)


class _Unseen:
    """The context of an agent that reads the turn context itself."""

    def prompt(self, observation: Observation) -> Prompt:
        return Prompt((), extends=False)

    def record(self, observation: Observation, action: str, reply_ids: Sequence[int], reply_text: str = "") -> None:
        pass

    def render(self, action: str) -> tuple[int, ...]:
        raise NotImplementedError("a script has no ids")

    def parse(self, reply: str, *, truncated: bool = False) -> Parsed:
        return Parsed(action=reply, is_valid=True)


SCRIPT = PolicyInterface(new_context=_Unseen, decode=lambda _: "", constrain=False)


def _at_random(observation: Observation, rng: random.Random) -> str:
    if observation.admissible:
        return rng.choice(observation.admissible)
    return "".join(rng.choice("abcdefghijklmnopqrstuvwxyz ") for _ in range(rng.randint(1, 20)))


def _idle(observation: Observation, *, quits: bool) -> str:
    end = quit_action(observation) if quits else None
    return noop(observation) if end is None else end


class _Replay:
    """Repeats the actions of a run's newest evaluation in each task."""

    def __init__(self, folder: Path) -> None:
        from cairn.core.store import RunStore

        with RunStore.read(folder) as store:
            rows = store.rows(
                "SELECT k.task, t.turn, t.action FROM turns t JOIN episodes e ON e.id = t.episode "
                "JOIN tasks k ON k.id = e.task WHERE e.phase = 'eval' AND e.ending != 'failed' ORDER BY e.step"
            )
            if wrong := [action for *_, action in rows if not isinstance(action, str)]:
                raise store.damaged(f"it has an action that is not text: {wrong[0]!r:.40}")
        if not rows:
            raise CairnError(
                f"replay: the run at {str(folder)!r} has not been evaluated; there is nothing to play again"
            )
        self._actions: dict[tuple[str, int], str] = {
            (task, turn): action for task, turn, action in rows
        }  # rows are sorted by step, so the newest action wins

    def __call__(self, context: TurnContext, rng: random.Random) -> str:
        if (context.task_id, context.turn) not in self._actions:
            raise EnvironmentFailure(f"replay: nothing is stored for turn {context.turn} of task {context.task_id!r}")
        return self._actions[context.task_id, context.turn]


def _ask(context: TurnContext) -> str:
    """Show the observation on standard error and return the human's input; ? lists the actions.

    Raises:
        CairnError: the terminal is closed.
    """
    _show(context.observation.text)
    while True:
        try:
            print("> ", end="", file=sys.stderr, flush=True)  # noqa: T201  (as in _show)
            action = plain(input()).action
        except EOFError:
            raise CairnError("human: the input has ended; the episodes until here are not kept") from None
        if action != "?":
            return action
        _show(*(context.observation.admissible or ("(no actions are listed)",)))


def _show(*lines: str) -> None:
    for line in lines:
        print(printable(line), file=sys.stderr)  # noqa: T201  (output for a human player)
