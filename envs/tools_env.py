"""Environments from a user's functions: `tools_env` combines tools, tasks and a verifier.

Each episode has its own world, which tools may change. An action is one or more tool calls as JSON; any other text is
the final answer, which ends the episode and is scored.
"""

from __future__ import annotations

import asyncio
import json
import random
import sys
from collections.abc import Callable, Coroutine, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

from pydantic import Field

from cairn.core.errors import ConfigError
from cairn.core.records import Schema, function_schema
from cairn.envs.base import EnvMeta, Outcome, calls_of
from cairn.envs.function_tools import Function, FunctionTool, call_by_name, check_parameters, function_tool
from cairn.envs.scorers import Scorer, checked_score, scored_rows
from cairn.envs.table_rows import RowsConfig, RowsEnv, Table, rows_by_id
from cairn.envs.world_state import state_bytes

ANSWER, TEXT = "answer", "text"  # the final tool with finish="tool", and its argument
_ANSWER_TOOL = function_schema(ANSWER, "Give the final answer.", {TEXT: {"type": "string"}}, [TEXT])
_MAX_CALLS = 16
Finish = Literal["text", "tool"] | Sequence[str]  # conditions that end an episode
_PARAMETERS = {  # allowed parameters of a user's functions, by purpose
    "world": (),
    "reset": ("world", "task", "rng"),
    "verify": ("world", "task", "answer"),
    "state": ("world", "task"),
    "oracle": ("world", "task", "turn"),
}


class ToolsConfig(RowsConfig):
    """Settings of tool environments."""

    show_tools: bool = Field(
        False, description="The first text lists the tools, for agents that are not shown their schemas otherwise."
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolDesign:
    """The parts of a tool environment."""

    tools: Mapping[str, FunctionTool]
    world: Function | None
    reset: Function | None
    verify: Function | Scorer
    state: Function | None
    oracle: Function | None
    question: str
    instruction: str
    finish: Finish

    @property
    def ending(self) -> Sequence[str]:
        """The names of the tools that end an episode."""
        return () if isinstance(self.finish, str) else self.finish


class ToolsEnv(RowsEnv):
    """An environment whose tools are functions; `tools_env` creates subclasses."""

    Config = ToolsConfig
    design: ClassVar[ToolDesign]

    def setup(self) -> None:
        """Select the rows of the split, and build the tool schemas."""
        super().setup()
        self._world: Any = None  # Any: the user's own type
        self._runner: asyncio.Runner | None = None
        self._schemas = tuple(tool.schema for tool in self.design.tools.values())
        if self.design.finish == "tool":
            self._schemas += (_ANSWER_TOOL,)

    def start(self, task_id: str, rng: random.Random) -> str:
        """Create a world, call `reset`, and return the first text: that of `reset`, or the question."""
        self._close_world()
        self._history: list[str] = []
        self._answer: str | None = None
        self._row = self.rows[task_id]
        design = self.design
        self._world = None if design.world is None else design.world()
        first = None if design.reset is None else self._user(design.reset, "reset", rng=rng)
        asked = str(self._row[design.question]) if first is None else str(first)
        tools = "\n".join(json.dumps(tool["function"], ensure_ascii=False) for tool in self._schemas)
        listed = f'Tools, called as {{"name": ..., "arguments": {{...}}}}:\n{tools}' if self._shows_tools else ""
        return "\n\n".join(filter(None, (design.instruction, listed, asked)))

    def act(self, action: str) -> Outcome:
        """Execute a tool call, or score the final answer."""
        self._history.append(action)
        call = _call_in(action)
        if isinstance(call, str):
            return Outcome(call)
        if call is None:
            if self.design.finish == "text" and action.strip():
                return self._end(action.strip())
            return Outcome(f"Call one of the tools: {', '.join(self._names())}.")
        name, arguments = call
        if self.design.finish == "tool" and name == ANSWER:
            found = arguments.get(TEXT) if isinstance(arguments, dict) else None
            return self._end(found) if isinstance(found, str) else Outcome(f"{ANSWER} needs the argument {TEXT!r}.")
        if name not in self.design.tools:
            return Outcome(f"There is no tool {name[:64]!r}. Call one of: {', '.join(self._names())}.")
        text, is_result = self.design.tools[name].call(arguments, self._world, self._run)
        return self._end(text, text) if is_result and name in self.design.ending else Outcome(text)

    def state(self) -> bytes:
        """Return the contents of the world, from `state` if given.

        If the contents are not known, the state is the list of actions so far.
        """
        if self.design.state is not None:
            contents: object = self._user(self.design.state, "state")
        else:
            contents = self._world
        if contents is not None:
            try:
                return state_bytes([contents, self._answer])
            except TypeError:
                if self.design.state is not None:
                    raise
        return state_bytes(self._history)

    def tools(self) -> tuple[Schema, ...]:
        """Return the schemas of the tools."""
        return self._schemas

    def oracle_action(self, name: str) -> str:
        """Return the action of the user's oracle: a call, a list of calls, or the final answer."""
        assert self.design.oracle is not None  # otherwise no oracle is declared
        action = self._user(self.design.oracle, "oracle", turn=self.turn)
        if not isinstance(action, str):
            return json.dumps(action, ensure_ascii=False)
        return action if self.meta.takes_text else json.dumps({"name": ANSWER, "arguments": {TEXT: action}})

    def close(self) -> None:
        """Close the world, if it has `close`, and the event loop of asynchronous tools."""
        self._close_world()
        if self._runner is not None:
            self._runner.close()
            self._runner = None
        super().close()

    @property
    def _shows_tools(self) -> bool:
        return bool(self.config.show_tools)  # type: ignore[attr-defined]  # a ToolsConfig

    def _names(self) -> list[str]:
        return [str(tool["function"]["name"]) for tool in self._schemas]

    def _user(self, function: Function, what: str, **more: object) -> Any:  # Any: the function's result
        return call_by_name(function, what, {"world": self._world, "task": self._row, **more})

    def _run(self, coroutine: Coroutine[Any, Any, Any]) -> Any:  # Any: the coroutine's result
        if self._runner is None:
            self._runner = asyncio.Runner()
        return self._runner.run(coroutine)

    def _end(self, answer: str, text: str = "The end.") -> Outcome:
        self._answer = answer
        verify = self.design.verify
        if isinstance(verify, Scorer):
            result = verify.score(answer, self._row, self._row.get("answer"))
        else:
            result = self._user(verify, "verify", answer=answer)
        score, channels = checked_score(result, self.task_id)
        return Outcome(text, reward=score, terminated=True, success=score >= 1, score=score, channels=channels)

    def _close_world(self) -> None:
        if callable(close := getattr(self._world, "close", None)):
            close()
        self._world = None


def tools_env(
    tools: Sequence[Function],
    *,
    name: str,
    tasks: Table,
    verify: Function | Scorer,
    world: Callable[[], Any] | None = None,  # Any: the user's own type
    reset: Function | None = None,
    state: Function | None = None,
    oracle: Function | None = None,
    question: str = "question",
    id: str | None = None,
    instruction: str = "",
    turn_limit: int = 10,
    finish: Finish = "text",
    parallel: bool = True,
    deterministic: bool = True,
    blocking: bool = False,
    channels: Sequence[str] = (),
) -> type[ToolsEnv]:
    """Return a class of environments whose tools are functions.

    It works with `cairn.make`, training and evaluation.

    If a tool raises an exception, its message is the tool's result. An exception in any other function is a failure of
    the environment.

    Args:
        tools: functions with type hints, possibly asynchronous. Arguments are validated by pydantic, and descriptions
            come from docstrings (Google, NumPy or Sphinx) or `Annotated`. A parameter `world` receives the episode's
            world and is hidden from the model.
        name: name of the class; it must equal the module's variable, so that other processes can import it as
            ``module:name``.
        tasks: path of a JSONL, JSON or Parquet file; or rows, such as a list of dictionaries or a `datasets.Dataset`.
        verify: a function with any of the parameters `world`, `task` (the row) and `answer` (the final text), which
            returns a score from 0 to 1, or a pair with a dictionary of further measurements, which `channels` lists. Or
            one of `cairn.scorers`, which uses the column "answer". An episode that ends without an answer scores 0.
        world: creates the world of the tools, once per episode; its `close` is called afterwards. None: no world.
        reset: a function of `world`, `task` and `rng` (a `random.Random`) that prepares the world, and may return the
            first text.
        state: a function of `world` and `task` that returns the true state, as `cairn.envs.world_state` describes.
            None: the contents of the world; if these are not known, the actions so far, so that different histories are
            different states.
        oracle: a function of `world`, `task` and `turn` that returns a correct next action: a call (``{"name": ...,
            "arguments": ...}``), a list of calls, or the final answer as text.
        question: the column with the question's text, used if `reset` returns no text.
        id: the column with the tasks' ids; None: the column "id" if its values are unique, else a hash of the row.
        instruction: text above the first observation.
        turn_limit: turns before truncation.
        finish: the end of an episode: "text": a text without a call; "tool": the tool `answer`, for agents that must
            call tools; or names of tools whose result is the answer.
        parallel: whether a turn may have several calls, which are executed in order, at most 16.
        deterministic: whether equal worlds and calls give equal results.
        blocking: whether tools wait for other processes or servers, so that several episodes may run at once.
        channels: names of further measurements of `verify`.

    Raises:
        ConfigError: a function cannot be a tool or needs unknown parameters, or the table cannot be read.
    """
    made = _checked_tools(tools, finish, has_world=world is not None)
    given = {"world": world, "reset": reset, "verify": verify, "state": state, "oracle": oracle}
    for what, function in given.items():
        if function is not None and not isinstance(function, Scorer):
            check_parameters(function, what, _PARAMETERS[what])
    scorer = verify if isinstance(verify, Scorer) else Scorer(score=lambda *_: False, needs_answer=False)
    rows = scored_rows(tasks, [question] if reset is None else [], scorer, "answer")
    design = ToolDesign(
        tools=made,
        world=world,
        reset=reset,
        verify=verify,
        state=state,
        oracle=oracle,
        question=question,
        instruction=instruction,
        finish=finish,
    )
    meta = EnvMeta(
        name=name,
        version=1,
        turn_limit=turn_limit,
        reward_range=(0, 1),
        summary=f"{len(rows)} tasks with {', '.join(made)}."[:200],
        is_deterministic=deterministic and scorer.longest_s == 0,
        is_blocking=blocking or scorer.longest_s > 0,
        call_timeout_s=EnvMeta.call_timeout_s + scorer.longest_s,
        has_terminal_reward=True,
        oracles=() if oracle is None else ("oracle",),
        channels=(*scorer.channels, *channels),
        max_action_chars=32_768,
        max_calls=_MAX_CALLS if parallel else 1,
        takes_text=finish == "text",
    )
    module = sys._getframe(1).f_globals.get("__name__", __name__)
    found = {"meta": meta, "design": design, "rows": rows_by_id(rows, id)}
    return type(name, (ToolsEnv,), {**found, "__module__": module, "__qualname__": name})


def _checked_tools(tools: Sequence[Function], finish: Finish, *, has_world: bool) -> dict[str, FunctionTool]:
    """Return the tools by name.

    Raises:
        ConfigError: the list is empty, two have one name, or `finish` names another.
    """
    made = [function_tool(function, has_world=has_world) for function in tools]
    names = [tool.name for tool in made]
    if not names:
        raise ConfigError("tools_env needs at least one tool; for questions without tools there is cairn.DataEnv")
    taken = [*names, *([ANSWER] if finish == "tool" else [])]
    if twice := sorted({each for each in taken if taken.count(each) > 1}):
        raise ConfigError(f"Two tools are called {twice[0]!r}")
    if unknown := [each for each in (() if isinstance(finish, str) else finish) if each not in names]:
        raise ConfigError(f"finish names {unknown[0]!r}, which is none of the tools: {', '.join(names)}")
    return dict(zip(names, made, strict=True))


def _call_in(action: str) -> tuple[str, Any] | str | None:  # Any: JSON from a model, unchecked
    """Return the name and the arguments of a call, or an error message; None for a text."""
    if not action.lstrip().startswith(("{", "[")):
        return None
    try:
        found = json.loads(action)
    except (ValueError, RecursionError) as error:
        looks_called = '"name"' in action and '"arguments"' in action
        return f"The call is not valid JSON: {str(error)[:120] or 'nested too deep'}." if looks_called else None
    if calls_of(action) is not None:
        return "A turn has one call."
    if not isinstance(found, dict) or not isinstance(found.get("name"), str) or "arguments" not in found:
        return None
    return found["name"], found["arguments"]
