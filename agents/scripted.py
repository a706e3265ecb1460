"""Agents without a model: an environment's oracle, random choice, one constant action."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from cairn.agents.play import Choose
from cairn.core.errors import UnknownNameError
from cairn.core.records import Observation
from cairn.core.seeding import python_generator

_KINDS = ("oracle", "random", "constant")


class HasOracle(Protocol):
    """An environment, or a pool's handle to one, that can say what to do next."""

    def oracle(self, name: str | None = None) -> str:
        """Return the named oracle's next action."""


def is_scripted(name: str) -> bool:
    """Return whether `name` is one of these agents, rather than a model."""
    return name.partition(":")[0] in _KINDS


def scripted(name: str, env: HasOracle, seed: int = 0) -> Choose:
    """Return the chooser called `name` for episodes of `env`.

    Names: ``oracle``, ``oracle:NAME``, ``random`` or ``constant:TEXT``.

    Raises:
        UnknownNameError: no such agent.
    """
    kind, _, argument = name.partition(":")
    makers: dict[str, Callable[[], Choose]] = {
        "oracle": lambda: lambda _: env.oracle(argument or None),
        "random": lambda: _random(seed),
        "constant": lambda: lambda _: argument or "look",
    }
    if kind not in makers:
        raise UnknownNameError("agent", name, makers, "cairn eval --help")
    return makers[kind]()


def _random(seed: int) -> Choose:
    rng = python_generator("random agent", seed)

    def choose(observation: Observation) -> str:
        if observation.admissible:
            return rng.choice(observation.admissible)
        return "".join(rng.choice("abcdefghijklmnopqrstuvwxyz ") for _ in range(rng.randint(1, 20)))

    return choose
