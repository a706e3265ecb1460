"""Agents that are Python code: a function, or a class with `reset` and `act`.

They may be plain or async. A function gets the observation's text and an `info`, and returns the action's text. `info`
has the fields that a policy may see: ``task_id``, ``turn``, ``admissible_actions``, ``tools``, and ``image`` if there
is one; no score and no anchor. An object of a class plays one episode at a time: `reset(observation, info)`, if it
exists, is called at the first turn, then `act(observation, info)` at every turn.
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from hashlib import sha256
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Protocol
from uuid import uuid4

from cairn.agents.backend import TurnContext
from cairn.core.errors import ConfigError
from cairn.core.plugins import DOTTED, load_dotted

Info = dict[str, Any]  # Any: see the module
Act = Callable[[str, Info], str | Awaitable[str]]


class HasAct(Protocol):
    """An object that plays an episode.

    If it has a `reset(observation, info)`, that is called at the first turn.
    """

    def act(self, observation: str, info: Info) -> str | Awaitable[str]:
        """Return the next action."""


AgentCode = Act | type[HasAct]


@dataclass(frozen=True, slots=True, kw_only=True)
class CodeAgent:
    """A user's function or class."""

    name: str  # its address, `module:name`
    code: AgentCode

    @property
    def is_async(self) -> bool:
        """Whether it is async code."""
        called = getattr(self.code, "act") if isinstance(self.code, type) else self.code  # noqa: B009  (mypy)
        return inspect.iscoroutinefunction(called) or inspect.iscoroutinefunction(getattr(called, "__call__", None))  # noqa: B004

    def player(self) -> CodePlayer:
        """Return a player for one episode at a time."""
        if not isinstance(self.code, type):
            return CodePlayer(self.code, None)
        made: Any = self.code()  # Any: checked by `code_agent`
        return CodePlayer(made.act, getattr(made, "reset", None))

    def identity(self) -> str:
        """Return the SHA-256 of the file that defines it, or of its source.

        Without either, returns a new text each time.
        """
        try:
            file = Path(inspect.getsourcefile(self.code) or "")
            content = file.read_bytes() if file.is_file() else inspect.getsource(self.code).encode()
        except (OSError, TypeError):
            return uuid4().hex
        return sha256(content).hexdigest()


@dataclass(slots=True)
class CodePlayer:
    """Plays one episode at a time."""

    act: Act
    reset: Callable[[str, Info], Any] | None  # Any: its result is not used

    async def answer(self, context: TurnContext) -> str:
        """Return the action for a turn; synchronous code runs in the caller's thread.

        Raises:
            TypeError: the code did not return text.
            Exception: the code raised it.
        """
        text, info = context.observation.text, _info(context)
        if context.turn == 0 and self.reset is not None:
            await _awaited(self.reset(text, info))
        action = await _awaited(self.act(text, info))
        if not isinstance(action, str):
            raise TypeError(f"it must return the action as text, got {action!r:.100}")
        return action


def is_code(name: str) -> bool:
    """Return whether a name is the address of code in an existing module."""
    top = name.partition(":")[0].partition(".")[0]
    return DOTTED.fullmatch(name) is not None and (top in sys.modules or find_spec(top) is not None)


def code_agent(code: object) -> CodeAgent:
    """Return the agent of a function, a class, or the address of one.

    Raises:
        ConfigError: it is neither, a class has no `act`, or a call does not take an observation and an info.
        CairnError: its module cannot be imported.
    """
    found: Any = load_dotted(code) if isinstance(code, str) else code  # Any: checked here
    name = code if isinstance(code, str) else _address(found)
    if not callable(found):
        raise ConfigError(f"Agent {name!r}: expected a function (observation, info) -> action, or a class with `act`")
    if isinstance(found, type) and not callable(getattr(found, "act", None)):
        raise ConfigError(f"Agent {name!r}: the class has no method act(observation, info), which returns the action")
    is_class = isinstance(found, type)
    methods = [getattr(found, each) for each in ("act", "reset") if hasattr(found, each)]
    for each in methods if is_class else [found]:
        given = (None,) * (3 if is_class else 2)
        try:
            inspect.signature(each).bind(*given)
        except TypeError as error:
            raise ConfigError(
                f"Agent {name!r}: {each.__name__} must take an observation and an info: {error}"
            ) from error
        except ValueError:  # built in, without a signature
            continue
    return CodeAgent(name=name, code=found)


def _address(code: Any) -> str:  # Any: any function, class or callable object
    named = code if hasattr(code, "__qualname__") else type(code)
    return f"{named.__module__}:{named.__qualname__}"


def _info(context: TurnContext) -> Info:
    seen = context.observation
    info: Info = {
        "task_id": context.task_id,
        "turn": context.turn,
        "admissible_actions": seen.admissible,
        "tools": seen.tools,
    }
    return info if seen.image is None else {**info, "image": seen.image}


async def _awaited(value: Any) -> Any:  # Any: result of user code
    return await value if inspect.isawaitable(value) else value
