"""Paraphrased instructions with all names, numbers and constraints, from the environment.

Environments that cannot change their instruction, such as those whose instruction is part of a third-party page, are
rejected.
"""

from __future__ import annotations

from collections.abc import Sequence

from cairn.core.errors import CairnError, ConfigError
from cairn.core.plugins import Plugin
from cairn.core.seeding import python_generator
from cairn.envs.base import TextEnv
from cairn.envs.perturbations.base import Perturbation, PerturbationConfig
from cairn.envs.rephrasable import Rephrasable


class ParaphraseConfig(PerturbationConfig):
    """Settings of paraphrases."""


class Paraphrase(Perturbation):
    """Replaces each task's instruction by a paraphrase, drawn per task."""

    def __init__(self, config: PerturbationConfig, env: TextEnv) -> None:
        """Set the environment's choice of instructions to `choose`."""
        super().__init__(config, env)
        if not (env.meta.can_reword and isinstance(env, Rephrasable)):
            raise ConfigError(
                f"perturb.paraphrase: {env.meta.name!r} has no paraphrases of its instructions. An environment that "
                "has some calls `phrase_instruction` in `start` and declares meta.can_reword (docs/add_env.md)"
            )
        env.choose_instruction = self.choose

    def choose(self, task_id: str, others: Sequence[str]) -> str:
        """Return one of the task's paraphrases, drawn per task.

        Raises:
            CairnError: the task has no paraphrase.
        """
        if not others:
            raise CairnError(
                f"perturb.paraphrase: task {task_id!r} of {self.env.meta.name!r} cannot be said in other words without "
                "a change of its meaning; leave it out"
            )
        return python_generator("paraphrase", self.config.seed, task_id).choice(others)


PERTURBATION = Plugin(ParaphraseConfig, Paraphrase)
