"""Shuffled lists without a meaningful order: admissible actions, functions, lists in texts.

The environment declares which lists of its texts have no order; ranked results, pages and programs' outputs are
unchanged. Equal lists are shuffled equally, so that a state looks the same on every visit.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

from cairn.core.errors import ConfigError
from cairn.core.plugins import Plugin
from cairn.core.records import Schema
from cairn.core.seeding import python_generator
from cairn.envs.base import TextEnv
from cairn.envs.perturbations.base import Perturbation, PerturbationConfig
from cairn.envs.rephrasable import Rephrasable

T = TypeVar("T")


class ShuffleConfig(PerturbationConfig):
    """Settings of shuffling."""


class Shuffle(Perturbation):
    """Shuffles lists, in an order drawn per task and list."""

    violates = ("admissible",)  # which requires a sorted list

    def __init__(self, config: PerturbationConfig, env: TextEnv) -> None:
        """Check that the environment has lists to shuffle."""
        super().__init__(config, env)
        self._rephrasable = env if isinstance(env, Rephrasable) else Rephrasable()
        is_unlisted = all(getattr(type(env), name) is getattr(TextEnv, name) for name in ("admissible", "tools"))
        if is_unlisted and type(self._rephrasable).shuffle_lists is Rephrasable.shuffle_lists:
            raise ConfigError(
                f"perturb.shuffle: {env.meta.name!r} lists nothing: neither admissible actions nor functions, and no "
                "lists in its texts by `shuffle_lists` (docs/add_env.md)"
            )

    def text(self, text: str) -> str:
        """Return a text with shuffled lists."""
        return self._rephrasable.shuffle_lists(text, lambda listed: self._shuffled("text", listed, listed))

    def admissible(self, actions: tuple[str, ...]) -> tuple[str, ...]:
        """Return the actions in shuffled order."""
        return tuple(self._shuffled("admissible", actions, actions))

    def tools(self, tools: tuple[Schema, ...]) -> tuple[Schema, ...]:
        """Return the functions in shuffled order."""
        return tuple(self._shuffled("tools", tools, [each["function"]["name"] for each in tools]))

    def _shuffled(self, what: str, listed: Sequence[T], named: Sequence[str]) -> list[T]:
        rng = python_generator("shuffle", self.config.seed, self.task_id, what, *named)
        return rng.sample(listed, len(listed))


PERTURBATION = Plugin(ShuffleConfig, Shuffle)
