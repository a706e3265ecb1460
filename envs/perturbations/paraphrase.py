"""Instructions in other words, with every name, number and constraint; the ways to say them are the environment's.

An environment whose instruction is not its own to say, as where a page of somebody else's states it, is refused.
"""

from __future__ import annotations

from collections.abc import Sequence

from cairn.core.errors import CairnError, ConfigError
from cairn.core.seeding import python_generator
from cairn.envs.base import TextEnv
from cairn.envs.perturbations.base import Perturbation, PerturbationConfig
from cairn.envs.rephrasable import Rephrasable


class ParaphraseConfig(PerturbationConfig):
    """Which of the ways to say an instruction."""


class Paraphrase(Perturbation):
    """Says each task's instruction in another way, drawn for the task."""

    def __init__(self, config: PerturbationConfig, env: TextEnv) -> None:
        """Ask the environment to choose by `config`."""
        super().__init__(config, env)
        if not (env.meta.can_reword and isinstance(env, Rephrasable)):
            raise ConfigError(
                f"perturb.paraphrase: {env.meta.name!r} has no paraphrases of its instructions. An environment that "
                "has some calls `phrase_instruction` in `start` and declares meta.can_reword (docs/add_env.md)"
            )
        env.choose_instruction = self.choose

    def choose(self, task_id: str, others: Sequence[str]) -> str:
        """Return one of the other ways to say a task.

        Raises:
            CairnError: there is none for this task.
        """
        if not others:
            raise CairnError(
                f"perturb.paraphrase: task {task_id!r} of {self.env.meta.name!r} cannot be said in other words without "
                "a change of its meaning; leave it out"
            )
        return python_generator("paraphrase", self.config.seed, task_id).choice(others)


PERTURBATION = (Paraphrase, ParaphraseConfig)
