"""The reference policy, and the divergence of the trained policy from it.

A reference is a second copy of the trained weights: all weights, or the adapters only. For its forward pass the two
sets are swapped in place, so that no second model is built. It needs the memory of one set in the weights' precision. A
moving average needs one set in float32, and with bfloat16 weights a rounded set during the pass.

With x = lp - lp_ref, both of the sampling distribution (temperature applied, renormalised over the allowed ids), the
divergence KL(policy || reference) of a sampled token is estimated as::

    k1 = x        k2 = x^2 / 2        k3 = exp(-x) + x - 1

k1 is unbiased and may be negative; k2 is never negative and has an error of third order; k3 is unbiased and never
negative. The gradient is that of the divergence itself, the same for all three::

    rho x grad lp,    rho = min(exp(lp - lp_old), 10)

where rho corrects for tokens that an older policy sampled: its mean under the old policy is the exact gradient, up to
the cap. Departure: GRPO (2402.03300, eq. 4) differentiates k3 itself, (1 - exp(-x)) grad lp, which is the gradient of
another divergence; the derivative of k1 is grad lp, whose mean is 0. Source of the estimators: Schulman 2020,
"Approximating KL divergence". x and lp - lp_old are clipped to +-20.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Literal

import torch
from pydantic import Field, model_validator
from torch import Tensor
from torch.distributed.tensor import DTensor

from cairn.agents.models.lora import trained
from cairn.core.config import Config
from cairn.core.errors import CairnError
from cairn.trainer.learner.distributed import gather_on_first, shared_like

_MOST = 10.0  # maximum importance weight of a token that an older policy sampled


class ReferenceConfig(Config):
    """The reference policy and the weight of its divergence."""

    kind: Literal["none", "initial", "ema"] = Field(
        "none", description="initial: the policy that reinforcement began with; ema: the trained one's moving average."
    )
    weight: float = Field(0.0, ge=0, description="Of the divergence in the loss; 0: it is only measured.")
    estimator: Literal["k1", "k2", "k3"] = Field(
        "k3", description="Of the divergence's value; the gradient is the same for all."
    )
    decay: float | None = Field(
        None, gt=0, lt=1, description="Of ema: average = decay x average + (1 - decay) x weights after every step."
    )

    @model_validator(mode="after")
    def _check(self) -> ReferenceConfig:
        if self.kind == "none" and self.weight:
            raise ValueError(f"weight {self.weight:g} needs a reference: set kind to initial or ema, or weight to 0")
        if (self.kind == "ema") != (self.decay is not None):
            raise ValueError(f"decay belongs to kind 'ema', such as 0.99; got {self.decay!r} with kind {self.kind!r}")
        return self


class Reference:
    """The second set of weights; initially a copy of the policy's current weights."""

    def __init__(self, model: Any, config: ReferenceConfig) -> None:  # Any: see Policy
        self.config = config
        self._weights = trained(model)
        kind = torch.float32 if config.kind == "ema" else None
        self._tensors = {name: p.detach().to(kind or p.dtype, copy=True) for name, p in self._weights.items()}

    @property
    def is_fixed(self) -> bool:
        """Whether the reference is constant for the whole run."""
        return self.config.kind == "initial"

    @contextmanager
    def swapped_in(self) -> Iterator[None]:
        """Swap the reference's weights into the model; gradients must not be pending."""
        swapped = {name: self._tensors[name].to(p.dtype) for name, p in self._weights.items()}  # same or rounded
        self._exchange(swapped)
        try:
            yield
        finally:
            self._exchange(swapped)

    @torch.no_grad()
    def update_ema(self) -> None:
        """Update the moving average after a step of the policy."""
        if self.config.decay is not None:
            for name, weight in self._weights.items():
                self._tensors[name].lerp_(weight.float(), 1 - self.config.decay)

    def tensors(self) -> dict[str, Tensor]:
        """Return the reference's full weights by name; see `distributed.gather_on_first`."""
        return {name: gather_on_first(tensor) for name, tensor in self._tensors.items()}

    @torch.no_grad()
    def load_tensors(self, tensors: Mapping[str, Tensor]) -> None:
        """Load weights that `tensors` returned.

        Raises:
            CairnError: the weights belong to another model.
        """
        shapes = {name: tuple(tensor.shape) for name, tensor in tensors.items()}
        expected = {name: tuple(tensor.shape) for name, tensor in self._tensors.items()}
        if odd := sorted(name for name in shapes.keys() | expected.keys() if shapes.get(name) != expected.get(name)):
            raise CairnError(
                f"The reference policy has {odd[0]!r} as {shapes.get(odd[0])} where {expected.get(odd[0])} is "
                "expected: it belongs to another model. Continue with the settings that the run began with"
            )
        for name, tensor in self._tensors.items():
            tensor.copy_(shared_like(tensors[name].to(tensor.dtype), tensor))

    @torch.no_grad()
    def _exchange(self, others: Mapping[str, Tensor]) -> None:
        """Swap contents in place.

        It needs no extra memory, so that it cannot fail. All references to a weight see the change.
        """
        for name, weight in self._weights.items():
            one, two = _bits(weight), _bits(others[name])
            one.bitwise_xor_(two)
            two.bitwise_xor_(one)
            one.bitwise_xor_(two)


def divergence(
    logprobs_D: Tensor, reference_D: Tensor, old_logprobs_D: Tensor, estimator: Literal["k1", "k2", "k3"]
) -> Tensor:
    """Return each position's estimate of the divergence, with the gradient described above."""
    x_D = (logprobs_D.detach() - reference_D).clamp(-20, 20)
    values = {"k1": x_D, "k2": x_D**2 / 2, "k3": torch.exp(-x_D) + x_D - 1}
    rho_D = torch.exp((logprobs_D.detach() - old_logprobs_D).clamp(-20, 20)).clamp(max=_MOST)
    return values[estimator] + rho_D * x_D * (logprobs_D - logprobs_D.detach())


def _bits(tensor: Tensor) -> Tensor:
    """Return this rank's shard of the tensor as integers that share its memory."""
    local = tensor.to_local() if isinstance(tensor, DTensor) else tensor
    return local.detach().view({2: torch.int16, 4: torch.int32, 8: torch.int64}[local.dtype.itemsize])
