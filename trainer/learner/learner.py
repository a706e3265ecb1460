"""Gradient steps on samples: micro-batches with a common divisor, a loss, an optimiser step.

The gradient of a step does not depend on the division into micro-batches, except for rounding: every position's share
of the loss is fixed in advance.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Literal

import numpy as np
import torch
from pydantic import Field
from torch import Tensor

from cairn.agents.models.packed_attention import logits_after
from cairn.agents.models.policy import Policy
from cairn.core.config import Config
from cairn.core.errors import DivergedError
from cairn.core.one_ahead import one_ahead
from cairn.core.plugin_config import PluginConfig
from cairn.core.seeding import numpy_generator
from cairn.core.table import Floats
from cairn.trainer.learner.batch import Batch, make_batch, rank_micro_batches
from cairn.trainer.learner.distributed import SINGLE, ProcessGroup
from cairn.trainer.learner.memory_budget import TokenBudget
from cairn.trainer.learner.objective import Objective
from cairn.trainer.learner.optimizers import OptimizerConfig, PolicyOptimizer
from cairn.trainer.learner.reference import Reference, ReferenceConfig
from cairn.trainer.learner.samples import Sample
from cairn.trainer.learner.update_metrics import StepSums, UpdateReport

CLIP = PluginConfig(method="clip")


class LearnerConfig(Config):
    """Settings of the policy's updates."""

    optimizer: OptimizerConfig = OptimizerConfig()
    warmup: int = Field(0, ge=0, description="Steps over which the rates rise to their peak.")
    decay_to: float = Field(
        1.0, gt=0, le=1, description="Share of the peak rate after the last step; linear from the end of warm-up."
    )
    max_grad_norm: float = Field(1.0, gt=0, description="The gradient is scaled down to this norm.")
    epochs: int = Field(1, ge=1, description="Passes over the samples of an update.")
    minibatches: int = Field(1, ge=1, description="Optimiser steps in one pass.")
    micro_batch_tokens: int = Field(
        8192, ge=1, description="Tokens computed at once; what sequences share counts once."
    )
    average: Literal["token", "turn", "sequence", "constant"] = Field(
        "token",
        description="The loss is the mean over all decided tokens, the mean over turns or sequences of their tokens' "
        "means, or the sum over all decided tokens divided by `divisor` and the number of sequences.",
    )
    divisor: int = Field(1024, ge=1, description="With average = 'constant': tokens that divide a sequence's sum.")
    entropy_weight: float = Field(0.0, ge=0, description="Of the entropy bonus.")
    measure: Literal["trained", "all"] = Field(
        "trained",
        description="Metrics are means over the sequences with a gradient, or over all sequences; 'all' computes a "
        "forward pass for sequences without an advantage. A step in which none has a gradient measures all.",
    )
    importance_cap: float | None = Field(
        None,
        gt=0,
        description="Truncated importance sampling: logprobs are recomputed before an update, ratios use "
        "them, and a token counts min(new / sampled probability, cap). None: ratios use the sampled logprobs.",
    )
    reference: ReferenceConfig = ReferenceConfig()
    checkpointing: bool = Field(
        False, description="Compute layers a second time in the backward pass instead of keeping their activations."
    )
    max_mismatch: float = Field(
        0.1, gt=0, description="Mean difference of logprobs, trained from sampled with equal weights, that is an error."
    )


class Learner:
    """Updates the policy's weights in place; owns the optimiser and the reference.

    With several `ranks`, each must make the same calls with the same arguments; weights, metrics and errors are then
    equal on all ranks, and equal to those of a single rank up to rounding. Ranks may run out of memory at different
    times, so that tokens are halved with a single rank only.
    """

    def __init__(
        self,
        policy: Policy,
        config: LearnerConfig,
        total_steps: int,
        temperature: float = 1.0,
        *,
        loss: PluginConfig = CLIP,
        ranks: ProcessGroup = SINGLE,
        on_note: Callable[[str], None] = lambda _: None,
    ) -> None:
        """Set up the optimiser and the objective.

        `total_steps`: all optimiser steps of the run, for the schedule of the rates. `temperature`: that of sampling.

        Raises:
            UnknownNameError: the loss is unknown.
            ConfigError: a setting of the loss is unknown or invalid.
        """
        self.policy = policy
        self.config = config
        self.temperature = temperature
        self.ranks = ranks
        self.steps = 0
        self.rate_scale = 1.0  # factor of all learning rates
        self.budget = TokenBudget(config.micro_batch_tokens, ranks.world == 1, on_note)
        self._total_steps = max(total_steps, 1)
        self._objective = Objective(loss, config.entropy_weight, config.reference)
        self.optimizer = PolicyOptimizer(policy.model, config.optimizer)
        self.reference = None if config.reference.kind == "none" else Reference(policy.model, config.reference)
        policy.set_checkpointing(config.checkpointing)

    def update(self, samples: Sequence[Sample], seed: int, version: int | None = None) -> dict[str, float]:
        """Make `epochs x minibatches` optimiser steps on `samples` and return mean metrics.

        `version`: of the current weights; tokens sampled with it are compared with the first step's logprobs.

        Raises:
            CairnError: the trainer's logprobs differ from the sampled ones; no step has been made. Or the GPU
                ran out of memory with halved micro-batches too.
        """
        report = UpdateReport(version=version)
        if self.config.importance_cap is not None:
            samples = self._corrected(samples, self.config.importance_cap, report)
        rng = numpy_generator("minibatches", seed)
        self.policy.model.train()
        for _ in range(self.config.epochs):
            order = rng.permutation(len(samples))
            for part in np.array_split(order, max(min(self.config.minibatches, len(samples)), 1)):
                self._step([samples[i] for i in part], report)
        self.policy.model.eval()
        report.gather(self.ranks)
        metrics = report.importance_metrics(self.config.importance_cap)
        halvings = {"memory_halvings": float(self.budget.halvings)}
        return {**report.means(), **report.mismatch.metrics(), **metrics, **halvings}

    def close(self) -> None:
        """Release external resources; this learner has none."""

    def _step(self, samples: Sequence[Sample], report: UpdateReport) -> None:
        """Make an optimiser step on `samples`, and add its sums to the report."""
        weights = loss_weights(samples, self.config.average, self.config.divisor)
        trained_on, skipped = _split_by_advantage(samples, self._objective)
        measured_only = skipped if self.config.measure == "all" or not trained_on else []
        compares = report.steps == 0 and self.config.importance_cap is None

        def accumulate() -> StepSums:
            sums = StepSums()
            for chosen, has_gradient in ((measured_only, False), (trained_on, True)):
                part, shares = [samples[i] for i in chosen], [weights[i] * samples[i].loss_factors for i in chosen]
                self._accumulate(part, shares, sums, has_gradient=has_gradient, compares=compares)
            return sums

        sums = self.budget.retry_on_oom(accumulate, self.optimizer.zero_grad)
        report.skipped += len(skipped)
        if report.steps == 0:  # later steps are queued on the device before their sums are read
            report.take(sums)
            if compares:
                report.mismatch.gather(self.ranks)
            report.mismatch.check(self.config.max_mismatch, self.policy.encoder.decode)
        try:
            norm = self.optimizer.step(self.rate_scale * self._rate(), self.config.max_grad_norm)
        except torch.OutOfMemoryError as error:  # some weights may have been changed: the step cannot be repeated
            raise self.budget.exceeded(str(error)) from error
        if report.steps > 0:
            report.take(sums)
        if not math.isfinite(float(norm)):
            raise DivergedError(f"the norm of the gradient is {float(norm)}")
        report.grad_norm += float(norm)
        if self.reference is not None:
            self.reference.update_ema()
        self.steps += 1
        report.steps += 1

    def _accumulate(
        self,
        samples: Sequence[Sample],
        weights: Sequence[Floats],
        sums: StepSums,
        *,
        has_gradient: bool,
        compares: bool,
    ) -> None:
        """Add the samples' sums to `sums`; with `has_gradient`, add their gradient to the weights' gradients.

        Nothing in the loop waits for the device. With `compares`, the samples' logprobs are kept for a comparison with
        those of sampling.
        """
        if not samples:
            return
        references = self._reference_logprobs(samples, weights)
        with torch.set_grad_enabled(has_gradient), self.optimizer.summing_gradients():
            for number, (chosen, batch) in enumerate(one_ahead(self._batches(samples, weights))):
                sums.count(batch)
                logprobs_D, entropy_D = logprobs_and_entropy(self.policy, batch, self.temperature)
                if compares and chosen:
                    sums.logprobs.append(([samples[i] for i in chosen], logprobs_D.detach()))
                reference_D = references[number] if references else None
                value, measured = self._objective.compute(batch, logprobs_D, entropy_D, reference_D)
                if has_gradient:
                    torch.autograd.backward(value)
                sums.add(len(batch.targets_D) if chosen else 0, measured)  # else other ranks report these tokens

    def _batches(self, samples: Sequence[Sample], weights: Sequence[Floats]) -> Iterator[tuple[list[int], Batch]]:
        """Yield this rank's micro-batches, each with the indices of its samples.

        A micro-batch without indices has zero weight: it is computed because ranks with more micro-batches need this
        rank's shard of the weights.
        """
        for chosen in rank_micro_batches(samples, self.budget.tokens, self.ranks.rank, self.ranks.world):
            rows = chosen or [min(range(len(samples)), key=lambda i: len(samples[i].ids))]
            shares = [weights[i] if chosen else np.zeros(len(weights[i])) for i in rows]
            yield chosen, make_batch([samples[i] for i in rows], shares, self.policy.device)

    @torch.no_grad()
    def _reference_logprobs(self, samples: Sequence[Sample], weights: Sequence[Floats]) -> list[Tensor]:
        """Return the reference's logprobs [D] for each micro-batch; empty without a reference."""
        if self.reference is None:
            return []
        with self.reference.swapped_in():
            batches = self._batches(samples, weights)
            return [logprobs_and_entropy(self.policy, batch, self.temperature)[0] for _, batch in batches]

    def _corrected(self, samples: Sequence[Sample], cap: float, report: UpdateReport) -> list[Sample]:
        """Return the samples with logprobs of the current weights and truncated importance weights."""
        now = self.budget.retry_on_oom(lambda: self._logprobs(samples), self.optimizer.zero_grad)
        report.compare(samples, torch.as_tensor(np.concatenate([np.zeros(0), *now])))
        out = []
        for sample, fresh in zip(samples, now, strict=True):
            weight = np.minimum(np.exp(np.clip(fresh - sample.old_logprobs, -20, 20)), cap)
            out.append(replace(sample, old_logprobs=fresh, sampled_logprobs=sample.old_logprobs, is_weights=weight))
        report.is_weights = np.concatenate([s.loss_factors for s in out] or [np.ones(0)])
        return out

    @torch.no_grad()
    def _logprobs(self, samples: Sequence[Sample]) -> list[Floats]:
        """Return the current weights' logprobs of each sample's positions, from all ranks."""
        found = [np.zeros(len(s.positions)) for s in samples]
        for chosen, batch in self._batches(samples, [s.loss_factors for s in samples]):
            logprobs_D = logprobs_and_entropy(self.policy, batch, self.temperature)[0].double().cpu().numpy()
            stops = np.cumsum([len(samples[i].positions) for i in chosen])
            for i, part in zip(chosen, np.split(logprobs_D, stops[:-1]), strict=bool(chosen)):
                found[i] = part
        everywhere = np.array(self.ranks.sum(np.concatenate([np.zeros(0), *found]).tolist()))
        return np.split(everywhere, np.cumsum([len(s.positions) for s in samples])[:-1]) if samples else []

    def _rate(self) -> float:
        """Return the share of the peak rate for the next step."""
        if self.steps < self.config.warmup:
            return (self.steps + 1) / (self.config.warmup + 1)
        span = max(self._total_steps - self.config.warmup, 1)
        done = min((self.steps - self.config.warmup) / span, 1.0)
        return 1.0 + (self.config.decay_to - 1.0) * done


def _split_by_advantage(samples: Sequence[Sample], objective: Objective) -> tuple[list[int], list[int]]:
    """Return the indices of samples with a gradient, and of those without."""
    has_gradient = [not objective.needs_advantage or bool(s.advantages.any()) for s in samples]
    return [i for i, has in enumerate(has_gradient) if has], [i for i, has in enumerate(has_gradient) if not has]


def loss_weights(samples: Sequence[Sample], average: str, divisor: int = 1) -> list[np.ndarray]:
    """Return each position's share of the loss, [D] for each sample.

    With n sequences, m turns with a decided token, and D positions in all::

        token      1 / D
        turn       1 / (m times the positions of the turn)
        sequence   1 / (n times the positions of the sequence)
        constant   1 / (n divisor)

    The shares sum to 1, except those of "constant".
    """
    if average == "token":
        total = sum(len(s.positions) for s in samples)
        return [np.full(len(s.positions), 1.0 / total) for s in samples]
    if average == "turn":
        counts = [np.bincount(s.turns) for s in samples]
        num_turns = sum(int(np.count_nonzero(each)) for each in counts)
        return [1.0 / (num_turns * each[s.turns]) for s, each in zip(samples, counts, strict=True)]
    if average == "constant":
        return [np.full(len(s.positions), 1.0 / (len(samples) * divisor)) for s in samples]
    return [np.full(len(s.positions), 1.0 / (len(s.positions) * len(samples))) for s in samples]


def logprobs_and_entropy(policy: Policy, batch: Batch, temperature: float) -> tuple[Tensor, Tensor]:
    """Return the log-probability of each decided token and the entropy there, both [D], float32.

    The distribution is that of sampling: temperature applied, renormalised over the allowed ids.
    """
    logits_PV = logits_after(policy.model, batch.ids_N, batch.ragged, batch.states_P) / temperature
    if len(batch.choice_rows_C):
        allowed_PV = torch.zeros_like(logits_PV, dtype=torch.bool)
        allowed_PV[batch.choice_rows_C, batch.choice_ids_C] = True
        allowed_PV[batch.free_rows] = True
        logits_PV = logits_PV.masked_fill(~allowed_PV, -torch.inf)
    logprobs_PV = torch.log_softmax(logits_PV, -1)
    # 0 log 0 is 0; masked ids must not reach the product, whose gradient would be NaN.
    terms_PV = torch.where(torch.isfinite(logprobs_PV), logprobs_PV, 0.0)
    entropy_P = -(logprobs_PV.exp() * terms_PV).sum(-1)
    return logprobs_PV[batch.predictions_D, batch.targets_D], entropy_P[batch.predictions_D]
