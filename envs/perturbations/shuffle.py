"""Lists in another order, where order has no meaning: admissible actions, functions, and what texts enumerate.

Which lists of its texts have no order the environment says; ranked results, pages and programs' outputs stay as they
are. What is shown alike is shuffled alike, so that a state looks the same whenever an episode comes to it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

from cairn.core.errors import ConfigError
from cairn.core.records import Schema
from cairn.core.seeding import python_generator
from cairn.envs.base import TextEnv
from cairn.envs.perturbations.base import Perturbation, PerturbationConfig
from cairn.envs.rephrasable import Rephrasable

T = TypeVar("T")


class ShuffleConfig(PerturbationConfig):
    """Which order."""


class Shuffle(Perturbation):
    """Puts what is listed into an order drawn for the task and for what is listed."""

    violates = ("admissible",)  # which asks for a sorted list

    def __init__(self, config: PerturbationConfig, env: TextEnv) -> None:
        """See to it that there is something to shuffle."""
        super().__init__(config, env)
        self._rephrasable = env if isinstance(env, Rephrasable) else Rephrasable()
        is_unlisted = all(getattr(type(env), name) is getattr(TextEnv, name) for name in ("admissible", "tools"))
        if is_unlisted and type(self._rephrasable).shuffle_lists is Rephrasable.shuffle_lists:
            raise ConfigError(
                f"perturb.shuffle: {env.meta.name!r} lists nothing: neither admissible actions nor functions, and no "
                "lists in its texts by `shuffle_lists` (docs/add_env.md)"
            )

    def text(self, text: str) -> str:
        """Return a text whose lists are shuffled."""
        return self._rephrasable.shuffle_lists(text, lambda listed: self._shuffled("text", listed, listed))

    def admissible(self, actions: tuple[str, ...]) -> tuple[str, ...]:
        """Return the actions in another order."""
        return tuple(self._shuffled("admissible", actions, actions))

    def tools(self, tools: tuple[Schema, ...]) -> tuple[Schema, ...]:
        """Return the functions in another order."""
        return tuple(self._shuffled("tools", tools, [each["function"]["name"] for each in tools]))

    def _shuffled(self, what: str, listed: Sequence[T], named: Sequence[str]) -> list[T]:
        rng = python_generator("shuffle", self.config.seed, self.task_id, what, *named)
        return rng.sample(listed, len(listed))


PERTURBATION = (Shuffle, ShuffleConfig)
