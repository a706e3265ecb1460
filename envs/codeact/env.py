"""Wraps any environment so that an action is a Python program that takes steps (CodeAct).

After Wang et al. 2024, "Executable Code Actions Elicit Better LLM Agents" (arXiv 2402.01030). A program runs in a
sandbox. There, `act("...")` and a function for each tool of the inner environment take one step each and return the
observation. The agent sees the program's output and the last step's observation. The rewards of a program's steps add
up, and so do their reward parts. Other channels are those of the last step. Time, output, memory and the number of
steps are limited.

Departure from the source, whose interpreter keeps its variables for a whole conversation: each program starts in an
empty sandbox, which is emptied again after it. So the state is the inner environment's, and its anchor is sound: equal
anchors have equal futures under equal programs, as long as these read no clock and draw no random numbers.

Not prevented: a program may print a text that looks like an observation. It deceives only the agent that wrote it.
"""

from __future__ import annotations

import json
import random
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar

from pydantic import Field

from cairn.core.errors import ConfigError
from cairn.core.records import Schema, function_schema
from cairn.core.text import shorten
from cairn.core.tool_arguments import tool_arguments
from cairn.envs import registry
from cairn.envs.base import EnvConfig, EnvMeta, Outcome, TextEnv
from cairn.envs.codeact.program import Steps, described, parameters_of
from cairn.envs.sandbox_lease import LeasedSession
from cairn.sandboxes.base import Limits
from cairn.sandboxes.interpreter import Cell, Interpreter

TOOL, ARGUMENT = "run_program", "program"
_PRELUDE = (Path(__file__).parent / "inside" / "functions.py").read_text(encoding="utf-8")
_ORACLE = "inside"  # the first oracle of the inner environment; the others keep their names
_OWN_VERSIONS = 1000  # number of versions that an inner environment may have
_USAGE = """\
You act by Python programs, one a turn. In a program, act(action) carries out one action and returns what it shows, as \
text; actions() returns a list of the actions that would do something now, or None.{tools}
A program may take {steps} actions, in {seconds:g} seconds; all programs together {all_steps}. You are then shown what \
it printed, and what its last action showed. Each program starts anew: no variable, import or file is left of those \
before. An action that cannot be carried out, because there were too many or the task is over, raises an exception."""


class CodeActConfig(EnvConfig):
    """Settings of codeact: the inner environment, and the limits of programs."""

    of: str = Field("household", description="Environment that programs act in: an id, or a dotted path.")
    settings: dict[str, Any] = Field(default_factory=dict, description="Its settings.")  # Any: it checks them
    most_steps: int = Field(10, ge=1, description="Actions that one program may take.")
    most_chars: int = Field(4000, ge=200, description="Characters shown of a program's output; its middle is left out.")
    sandbox: str = Field("auto", description="Kind of sandbox; auto: the best that works here.")
    sandbox_settings: dict[str, Any] = Field(  # Any: each kind has its own
        default_factory=dict, description="Of that kind, as docs/plugins.md has them."
    )
    limits: Limits = Field(
        Limits(memory_bytes=256 << 20, processes=16, output_bytes=1 << 16),
        description="Of one program; time in the environment does not count.",
    )


class CodeActEnv(TextEnv):
    """Act in another environment by programs."""

    meta = EnvMeta(
        name="codeact",
        version=1,
        turn_limit=50,
        reward_range=(0.0, 1.0),
        summary="Act in any other environment by Python programs, run in a sandbox, whose functions take its steps.",
        is_deterministic=False,  # programs may read a clock or draw random numbers
        oracles=(_ORACLE,),
        is_blocking=True,
        call_timeout_s=1500.0,  # for programs, which have their own limits
        max_action_chars=1 << 15,
    )
    Config: ClassVar[type[EnvConfig]] = CodeActConfig
    config: CodeActConfig

    @classmethod
    def declare(cls, config: CodeActConfig) -> EnvMeta:
        """Return the inner environment's declarations, except those that programs change."""
        inner, own = registry.declared(config.of, config.settings), cls.meta
        return replace(
            own,
            version=own.version * _OWN_VERSIONS + inner.version,
            turn_limit=inner.turn_limit,
            reward_range=inner.reward_range,
            oracles=(_ORACLE, *inner.oracles[1:]) if inner.oracles else (),
            oracle_success=inner.oracle_success,
            can_snapshot=inner.can_snapshot,
            has_terminal_reward=inner.has_terminal_reward,
            parts=inner.parts,
            channels=inner.channels,
        )

    def setup(self) -> None:
        """Make the inner environment."""
        for name in self.config.perturb:
            raise ConfigError(
                f"perturb.{name}: {self.meta.name!r} shows the texts of its inner environment; perturb that one: "
                f"settings.perturb.{name}"
            )
        self._inner = registry.make(self.config.of, **self.config.settings)
        self._limit = self.turn_limit = self.config.turn_limit or self._inner.turn_limit
        self._seed: int | None = None
        self._sessions = LeasedSession(self.config.sandbox, self.config.sandbox_settings, self.config.limits)

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[str, dict[str, Any]]:
        """Start the episode that the inner environment starts with this seed."""
        self._seed = seed
        return super().reset(seed=seed, options=options)

    def tasks(self) -> Sequence[str]:
        """Return the tasks of the inner environment."""
        return self._inner.tasks()

    def has_task(self, task_id: str) -> bool:
        """Return whether the inner environment has the task."""
        return self._inner.has_task(task_id)

    def task_type(self, task_id: str) -> str:
        """Return the inner environment's type of a task."""
        return self._inner.task_type(task_id)

    def difficulty(self, task_id: str) -> str:
        """Return the inner environment's level of a task."""
        return self._inner.difficulty(task_id)

    def best_score(self, task_id: str) -> float:
        """Return the inner environment's best score of a task."""
        return self._inner.best_score(task_id)

    def start(self, task_id: str, rng: random.Random) -> str:
        """Start the inner episode and return its first text below the usage of programs."""
        seed = rng.getrandbits(31) if self._seed is None else self._seed
        self.turn_limit = self._limit
        text, self._now = self._inner.reset(seed=seed, options={"task": task_id})
        tools = "".join(f"\n{line}" for line in described(self._inner.tools()))
        usage = _USAGE.format(
            tools=f" So do these functions carry out one action each:{tools}" if tools else "",
            steps=self.config.most_steps,
            all_steps=self._inner.turn_limit,
            seconds=self.config.limits.wall_s,
        )
        return f"{usage}\n\n{text}"

    def act(self, action: str) -> Outcome:
        """Run a program to its end."""
        program, steps = _program(action), Steps(self._inner, self._now, self.config.most_steps)
        if len(action) > self.meta.max_action_chars:
            return self._outcome(f"[not run: a program may have {self.meta.max_action_chars} characters]", steps)
        if not program.strip():
            return self._outcome("[not run: the program is empty]", steps)
        session = self._sessions.emptied()
        tools = json.dumps(json.dumps(parameters_of(self._inner.tools())))
        cell = Interpreter(session, f"TOOLS = {tools}\n{_PRELUDE}", steps.call).run(program)
        session.reset()  # no process of the program runs between turns
        return self._outcome(self._printed(cell), steps)

    def state(self) -> bytes:
        """Return the inner anchor: programs leave no other state."""
        return self._inner.anchor().to_bytes(8, "big", signed=True)

    def oracle_action(self, name: str) -> str:
        """Return a program that takes the inner oracle's next step."""
        return f"act({self._inner.oracle(None if name == _ORACLE else name)!r})"

    def tools(self) -> tuple[Schema, ...]:
        """Return the tool that takes a program, for models that call tools."""
        return (function_schema(TOOL, "Run a Python program.", {ARGUMENT: {"type": "string"}}, [ARGUMENT]),)

    def save_state(self) -> Any:  # Any: see `TextEnv.snapshot`
        """Return the inner environment's snapshot and its last info."""
        return self._inner.snapshot(), self._now

    def load_state(self, saved: Any) -> None:  # Any: see save_state
        """Restore the inner environment."""
        snapshot, self._now = saved
        self._inner.restore(snapshot)
        self.turn_limit = self._limit

    def close(self) -> None:
        """Close the inner environment and return the session to its pool."""
        self._inner.close()
        self._sessions.close()

    # -- helpers -----------------------------------------------------------------------------------------------------

    def _info(self) -> dict[str, Any]:
        shown = {"image": self._now["image"]} if "image" in self._now else {}
        return super()._info() | shown

    def _printed(self, cell: Cell) -> str:
        output = shorten((cell.stdout + cell.stderr).decode("utf-8", "replace").rstrip("\n"), self.config.most_chars)
        notes = [f"[limit reached: {cell.limit}]"] if cell.limit is not None else []
        if cell.error is not None and cell.limit is None and not cell.stderr:
            notes = [f"[{cell.error}]"]
        return "\n".join(part for part in (output, *notes) if part) or "[nothing printed]"

    def _outcome(self, printed: str, steps: Steps) -> Outcome:
        """Return a program's outcome; the inner environment's last turn is the last here too."""
        self._now = steps.info
        if steps.truncated:
            self.turn_limit = self.turn + 1
        shown = (
            f"[actions taken: {steps.count}; the last one showed]\n{steps.text}" if steps.count else "[no action taken]"
        )
        return Outcome(
            f"{printed}\n{shown}",
            reward=steps.reward,
            terminated=steps.terminated,
            success=bool(self._now["success"]),
            score=float(self._now["score"]),
            channels={**(self._now["channels"] if steps.count else {}), **steps.parts},
        )


def _program(action: str) -> str:
    """Return the program in an action: the action itself, or the argument of a tool call."""
    if action.lstrip().startswith("{"):
        try:
            call = json.loads(action)
        except (ValueError, RecursionError):
            return action
        arguments = tool_arguments(call.get("arguments")) if call.get("name") == TOOL else None
        if isinstance(arguments, dict) and isinstance(program := arguments.get(ARGUMENT), str):
            return program
    return action


ENV = CodeActEnv
