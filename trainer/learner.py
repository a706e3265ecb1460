"""Gradient steps on samples: micro-batches with one divisor for all of them, a loss, an optimiser step.

The gradient of a step does not depend on how its samples are cut into micro-batches, except for rounding: every place's
share of the loss is fixed before the cut.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import numpy as np
import torch
from pydantic import Field
from torch import Tensor

from cairn.agents.models.policy import Policy
from cairn.agents.models.ragged import hidden_states, logits
from cairn.core.config import Config, build
from cairn.core.plugins import LOSSES
from cairn.core.seeding import numpy_generator
from cairn.core.table import Floats
from cairn.trainer.batch import Batch, by_tokens, make_batch
from cairn.trainer.mismatch import Mismatch
from cairn.trainer.optimizers import OptimizerConfig, PolicyOptimizer
from cairn.trainer.samples import Sample


class LearnerConfig(Config):
    """How the policy's weights change."""

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
    average: Literal["token", "sequence"] = Field(
        "token",
        description="The loss is the mean over all decided tokens, or the mean over sequences of their tokens' means.",
    )
    entropy_weight: float = Field(0.0, ge=0, description="Of the entropy bonus.")
    importance_cap: float | None = Field(
        None,
        gt=0,
        description="Truncated importance sampling: logprobs are computed anew before an update, ratios are taken to "
        "them, and a token counts min(new / sampled probability, cap). None: ratios are taken to what was sampled.",
    )
    max_mismatch: float = Field(
        0.1, gt=0, description="Mean difference of logprobs, trained from sampled with equal weights, that is an error."
    )


@dataclass
class Report:
    """Sums over places, weighted like the loss; `means` gives one number each."""

    totals: dict[str, float] = field(default_factory=dict)
    weight: float = 0.0
    steps: int = 0
    grad_norm: float = 0.0
    skipped: int = 0  # sequences that had no gradient
    computed_tokens: int = 0
    row_tokens: int = 0  # the same sequences' tokens, each sequence by itself
    padding: int = 0  # queries of attention that are no token
    version: int | None = None  # of the weights before the update
    mismatch: Mismatch = field(default_factory=Mismatch)
    importance: Floats | None = None  # of all places

    def compare(self, samples: Sequence[Sample], logprobs_D: Tensor) -> None:
        """Hold the logprobs of samples' places against those stored, where the weights were the same."""
        stops = np.cumsum([len(s.places) for s in samples])
        old = np.concatenate([s.old_logprobs for s in samples])
        fresh = np.flatnonzero(np.concatenate([_fresh(s, self.version) for s in samples]))

        def context(i: int) -> list[int]:
            sample = int(np.searchsorted(stops, fresh[i], side="right"))
            place = samples[sample].places[fresh[i] - stops[sample]]  # counted from the end
            return list(map(int, samples[sample].ids[: place + 1]))

        rows = torch.as_tensor(fresh, device=logprobs_D.device)
        self.mismatch.add(torch.as_tensor(old[fresh]), logprobs_D[rows].cpu(), context)

    def count(self, batch: Batch) -> None:
        """Add what one micro-batch computes."""
        self.computed_tokens += len(batch.ids_N)
        self.row_tokens += batch.row_tokens
        self.padding += batch.ragged.padding

    def add(self, weight: float, values: dict[str, float]) -> None:
        """Add one micro-batch's weighted sums."""
        self.weight += weight
        for name, value in values.items():
            self.totals[name] = self.totals.get(name, 0.0) + value

    def corrections(self, cap: float | None) -> dict[str, float]:
        """Return the mean importance of tokens and the share of those that were cut to the cap, if there is one."""
        if self.importance is None or not len(self.importance):
            return {}
        is_capped = self.importance == cap
        return {"importance/mean": float(self.importance.mean()), "importance/capped": float(is_capped.mean())}

    def means(self) -> dict[str, float]:
        """Return averages over decided places and of the gradient's norm over optimiser steps, counts, and padding.

        Padding is the share of attention's queries that are no token.
        """
        weight = self.weight or 1.0
        return {
            **{name: value / weight for name, value in self.totals.items()},
            "grad_norm": self.grad_norm / max(self.steps, 1),
            "skipped_sequences": float(self.skipped),
            "computed_tokens": float(self.computed_tokens),
            "row_tokens": float(self.row_tokens),
            "padding": self.padding / max(self.computed_tokens + self.padding, 1),
        }


class Learner:
    """Owns the optimiser; the policy's weights are changed in place."""

    def __init__(self, policy: Policy, config: LearnerConfig, total_steps: int, temperature: float = 1.0) -> None:
        self.policy = policy
        self.config = config
        self.temperature = temperature
        self.steps = 0
        self._total_steps = max(total_steps, 1)
        self.optimizer = PolicyOptimizer(policy.model, config.optimizer)

    def update(
        self,
        samples: Sequence[Sample],
        loss: str,
        loss_config: dict[str, Any],
        seed: int,
        version: int | None = None,
    ) -> dict[str, float]:
        """Make `epochs x minibatches` optimiser steps on `samples` and return metrics, averaged over the steps.

        `version`: of the weights as they are; tokens sampled under it are held against the first step's logprobs.

        Raises:
            CairnError: the trainer's logprobs are not those that were sampled from; no step has been made.
        """
        method = LOSSES.load(loss)
        settings = build(method.config, loss_config, f"loss {loss!r}")
        report = Report(version=version)
        if self.config.importance_cap is not None:
            samples = self._corrected(samples, self.config.importance_cap, report)
        rng = numpy_generator("minibatches", seed)
        self.policy.model.train()
        for _ in range(self.config.epochs):
            order = rng.permutation(len(samples))
            for part in np.array_split(order, max(min(self.config.minibatches, len(samples)), 1)):
                self._step([samples[i] for i in part], method, settings, report)
        self.policy.model.eval()
        return {**report.means(), **report.mismatch.metrics(), **report.corrections(self.config.importance_cap)}

    def _step(
        self, samples: Sequence[Sample], method: Any, settings: Config, report: Report
    ) -> None:  # Any: a Loss of some config
        num_samples = len(samples)
        weights = place_weights(samples, self.config.average)
        if (
            self.config.entropy_weight == 0
        ):  # sequences whose every advantage is 0 have no gradient: not worth computing
            kept = [i for i, s in enumerate(samples) if s.advantages.any()]
            samples, weights = [samples[i] for i in kept], [weights[i] for i in kept]
        report.skipped += num_samples - len(samples)
        for chunk in by_tokens(samples, self.config.micro_batch_tokens):
            chosen = [samples[i] for i in chunk]
            batch = make_batch(chosen, [weights[i] * samples[i].corrections for i in chunk], self.policy.device)
            self._accumulate(chosen, batch, method, settings, report)
        if report.steps == 0:
            report.mismatch.check(self.config.max_mismatch, self.policy.encoder.decode)
        norm = torch.nn.utils.clip_grad_norm_(
            self.policy.model.parameters(), self.config.max_grad_norm, error_if_nonfinite=True
        )
        self.optimizer.step(self._rate())
        self.steps += 1
        report.steps += 1
        report.grad_norm += float(norm)

    def _accumulate(
        self, samples: Sequence[Sample], batch: Batch, method: Any, settings: Config, report: Report
    ) -> None:  # Any: a Loss of some config
        report.count(batch)
        logprobs_D, entropy_D = logprobs_and_entropy(self.policy, batch, self.temperature)
        if report.steps == 0 and self.config.importance_cap is None:
            report.compare(samples, logprobs_D.detach())
        loss_D, is_clipped_D = method.compute(logprobs_D, batch.old_logprobs_D, batch.advantages_D, settings)
        loss = (batch.weights_D * loss_D).sum()
        (loss - self.config.entropy_weight * (batch.weights_D * entropy_D).sum()).backward()
        with torch.no_grad():
            change = batch.old_logprobs_D - logprobs_D
            report.add(
                float(batch.weights_D.sum()),
                {
                    "loss": float(loss),
                    "entropy": float((batch.weights_D * entropy_D).sum()),
                    "kl": float((batch.weights_D * (torch.exp(-change) + change - 1)).sum()),
                    "clipped": float((batch.weights_D * is_clipped_D).sum()),
                },
            )

    @torch.no_grad()
    def _corrected(self, samples: Sequence[Sample], cap: float, report: Report) -> list[Sample]:
        """Return the samples with logprobs of the weights as they are, and each token's truncated importance."""
        out = list(samples)
        for chunk in by_tokens(samples, self.config.micro_batch_tokens):
            chosen = [samples[i] for i in chunk]
            batch = make_batch(chosen, [s.corrections for s in chosen], self.policy.device)
            logprobs_D, _ = logprobs_and_entropy(self.policy, batch, self.temperature)
            report.compare(chosen, logprobs_D)
            now_D = logprobs_D.double().cpu().numpy()
            parts = np.split(now_D, np.cumsum([len(s.places) for s in chosen])[:-1])
            for i, now in zip(chunk, parts, strict=True):
                weight = np.minimum(np.exp(np.clip(now - samples[i].old_logprobs, -20, 20)), cap)
                out[i] = replace(samples[i], old_logprobs=now, importance=weight)
        report.importance = np.concatenate([s.corrections for s in out] or [np.ones(0)])
        return out

    def _rate(self) -> float:
        """Return the share of the peak rate for the coming step."""
        if self.steps < self.config.warmup:
            return (self.steps + 1) / (self.config.warmup + 1)
        span = max(self._total_steps - self.config.warmup, 1)
        done = min((self.steps - self.config.warmup) / span, 1.0)
        return 1.0 + (self.config.decay_to - 1.0) * done


def _fresh(sample: Sample, version: int | None) -> np.ndarray:
    """Return [D] whether each place was sampled under these weights."""
    if version is None or sample.versions is None:
        return np.zeros(len(sample.places), bool)
    return np.equal(sample.versions, version)


def place_weights(samples: Sequence[Sample], average: str) -> list[np.ndarray]:
    """Return each place's share of the loss; all shares sum to 1."""
    if average == "token":
        total = sum(len(s.places) for s in samples)
        return [np.full(len(s.places), 1.0 / total) for s in samples]
    return [np.full(len(s.places), 1.0 / (len(s.places) * len(samples))) for s in samples]


def logprobs_and_entropy(policy: Policy, batch: Batch, temperature: float) -> tuple[Tensor, Tensor]:
    """Return log-probability of each decided token and entropy of its distribution, both [D], float32.

    The distribution is the one that sampling uses: temperature applied, renormalised over the allowed ids.
    """
    states_NW = hidden_states(policy.model, batch.ids_N, batch.ragged)
    logits_PV = logits(policy.model, states_NW.index_select(0, batch.states_P)) / temperature
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
