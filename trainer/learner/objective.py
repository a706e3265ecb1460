"""The objective of a step: the loss, minus the entropy bonus, plus the reference divergence.

::

    sum over positions of  w (loss - entropy_weight entropy + reference.weight divergence)

The sum is over positions, with each position's share w from the batch. The shares make the sums over micro-batches and
ranks correct without further scaling.
"""

from __future__ import annotations

import torch
from torch import Tensor

from cairn.core.config import Config
from cairn.core.plugin_config import PluginConfig
from cairn.core.plugins import LOSSES
from cairn.trainer.learner.batch import Batch
from cairn.trainer.learner.reference import ReferenceConfig, divergence
from cairn.trainer.losses.base import Loss, LossFunction, LossInputs


class Objective:
    """A loss with its settings, the entropy bonus and the reference divergence."""

    def __init__(self, loss: PluginConfig, entropy_weight: float, reference: ReferenceConfig) -> None:
        plugin: Loss[Config] = LOSSES.load(loss.method)
        self._is_weighted = plugin.needs_advantage
        self._loss: LossFunction = loss.make(LOSSES, "loss")
        self._entropy_weight = entropy_weight
        self._reference = reference

    @property
    def needs_advantage(self) -> bool:
        """Whether a sequence without an advantage other than 0 has no gradient."""
        return self._is_weighted and self._entropy_weight == self._reference.weight == 0

    def compute(
        self, batch: Batch, logprobs_D: Tensor, entropy_D: Tensor, reference_D: Tensor | None
    ) -> tuple[Tensor, dict[str, Tensor]]:
        """Return the batch's part of the objective, and each metric's unweighted sum over tokens, in float64.

        All are scalars on the batch's device.
        """
        loss_D, is_clipped_D = self._loss(
            LossInputs(
                logprobs_D=logprobs_D,
                old_logprobs_D=batch.old_logprobs_D,
                sampled_logprobs_D=batch.sampled_logprobs_D,
                reference_D=reference_D,
                entropy_D=entropy_D,
                advantages_D=batch.advantages_D,
                sequences_D=batch.sequences_D,
                turns_D=batch.turns_D,
                groups_D=batch.groups_D,
            )
        )
        terms_D = loss_D - self._entropy_weight * entropy_D
        measured_D = {"loss": loss_D, "entropy": entropy_D, "clipped": is_clipped_D}
        if reference_D is not None:
            away_D = divergence(logprobs_D, reference_D, batch.old_logprobs_D, self._reference.estimator)
            terms_D = terms_D + self._reference.weight * away_D
            measured_D["kl_reference"] = away_D
        with torch.no_grad():
            change_D = batch.old_logprobs_D - logprobs_D
            measured_D["kl"] = torch.exp(-change_D) + change_D - 1
            sums = {name: values.detach().double().sum() for name, values in measured_D.items()}
        return (batch.loss_weights_D * terms_D).sum(), sums
