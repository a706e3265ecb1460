"""The learner's optimisers: AdamW for all weights, or Muon for hidden matrices and AdamW.

Muon (torch.optim.Muon) orthogonalises each matrix's momentum before the step. Small models with little data need far
fewer samples with it; embeddings, norms and the output layer use AdamW, as its authors advise.

Weights of less than 32 bits have a float32 master, which also sums the gradients of micro-batches: steps change the
master, and the weight is the rounded master. Otherwise, steps smaller than the weight's last bit would be lost, and so
would parts of gradients. Adapters are float32 and need no master.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from typing import Any, Literal

import torch
from pydantic import Field
from torch import Tensor
from torch.distributed.tensor import DTensor

from cairn.agents.models.lora import trained
from cairn.core.config import Config
from cairn.core.errors import CairnError
from cairn.trainer.learner.distributed import gather, gather_on_first, shared_like

_MUON, _ADAMW = {"momentum_buffer"}, {"step", "exp_avg", "exp_avg_sq"}  # state of each optimiser per parameter
_MASTER = "master"


class OptimizerConfig(Config):
    """The optimiser and its learning rates."""

    kind: Literal["adamw", "muon"] = Field("adamw", description="muon: for hidden matrices, with AdamW for the rest.")
    lr: float = Field(1e-3, gt=0, description="Peak learning rate of AdamW.")
    muon_lr: float = Field(3e-3, gt=0, description="Peak learning rate of Muon.")
    betas: tuple[float, float] = Field((0.9, 0.99), description="Decay rates of AdamW's moments.")
    momentum: float = Field(0.95, ge=0, lt=1, description="Of Muon.")
    weight_decay: float = Field(0.0, ge=0, description="Of both.")


class PolicyOptimizer:
    """One or two torch optimisers that step together, with a state of named tensors."""

    def __init__(self, model: Any, config: OptimizerConfig, fused: bool | None = None) -> None:
        """Set up the optimisers.

        Args:
            model: a transformers model.
            config: the settings.
            fused: whether AdamW is one kernel for all weights. None: on a GPU, for weights that are not sharded.
        """
        self._weights = trained(model)
        self._masters = {
            name: p.detach().float().requires_grad_() for name, p in self._weights.items() if p.dtype.itemsize < 4
        }
        stepped = {**self._weights, **self._masters}
        hidden = _hidden_matrices(model, self._weights) if config.kind == "muon" else set()
        inner = {name: p for name, p in stepped.items() if name in hidden}
        outer = {name: p for name, p in stepped.items() if name not in hidden}
        if fused is None:
            fused = all(p.is_cuda and not isinstance(p, DTensor) for p in outer.values())
        self._never_waits = fused and not inner
        self._parts: list[tuple[torch.optim.Optimizer, list[str], float]] = []
        if outer:  # adapters are hidden matrices only
            adamw = torch.optim.AdamW(
                list(outer.values()),
                lr=config.lr,
                betas=config.betas,
                weight_decay=config.weight_decay,
                fused=fused or None,
            )
            self._parts.append((adamw, list(outer), config.lr))
        if inner:
            muon = torch.optim.Muon(
                list(inner.values()), lr=config.muon_lr, momentum=config.momentum, weight_decay=config.weight_decay
            )
            self._parts.append((muon, list(inner), config.muon_lr))

    @contextmanager
    def summing_gradients(self) -> Iterator[None]:
        """Within the block, move each weight's gradient to its master, if it has one, as soon as it is computed."""
        hooks = [
            self._weights[name].register_post_accumulate_grad_hook(partial(_add_gradient, master))  # type: ignore[no-untyped-call]  # torch has no types for it
            for name, master in self._masters.items()
        ]
        try:
            yield
        finally:
            for hook in hooks:
                hook.remove()

    def step(self, rate: float, max_norm: float) -> Tensor:
        """Scale the gradients down to a total norm of `max_norm`, apply them, and clear them.

        Args:
            rate: factor of the peak learning rates.
            max_norm: the largest norm of all gradients together that is applied.

        Returns:
            The norm before, over all ranks, as a scalar on the device. If it is not finite, no weight has changed. A
            fused AdamW does not wait for the device.
        """
        self._collect()
        stepped = [p for p in ({**self._weights, **self._masters}).values() if p.grad is not None]
        norm = gather(torch.nn.utils.get_total_norm([p.grad for p in stepped if p.grad is not None]))
        if self._never_waits:
            for optimizer, _, _ in self._parts:
                optimizer.grad_scale = ((norm + 1e-6) / max_norm).clamp(min=1.0)  # type: ignore[attr-defined]  # gradients are divided by it
                optimizer.found_inf = (~torch.isfinite(norm)).float()  # type: ignore[attr-defined]  # 1: nothing changes
        elif torch.isfinite(norm):
            torch.nn.utils.clip_grads_with_norm_(stepped, max_norm, norm)
        else:
            self.zero_grad()
            return norm
        for optimizer, _, peak in self._parts:
            for group in optimizer.param_groups:
                group["lr"] = peak * rate
            optimizer.step()
        self.zero_grad()
        self._round()
        return norm

    def zero_grad(self) -> None:
        """Clear the gradients."""
        for p in (*self._weights.values(), *self._masters.values()):
            p.grad = None

    def tensors(self) -> dict[str, Tensor]:
        """Return the full state by ``<parameter>/<slot>``; see `distributed.gather_on_first`."""
        out = {f"{name}/{_MASTER}": gather_on_first(master.detach()) for name, master in self._masters.items()}
        for optimizer, names, _ in self._parts:
            for index, slots in optimizer.state_dict()["state"].items():
                out |= {
                    f"{names[index]}/{what}": gather_on_first(torch.as_tensor(value)) for what, value in slots.items()
                }
        return out

    def load_tensors(self, tensors: Mapping[str, Tensor]) -> None:
        """Load a state that `tensors` returned.

        Raises:
            CairnError: the state belongs to another model, another kind of optimiser or another precision.
        """
        by_name: dict[str, dict[str, Tensor]] = {}
        for key, tensor in tensors.items():
            name, _, what = key.rpartition("/")
            by_name.setdefault(name, {})[what] = tensor
        if strange := sorted(set(by_name) - set(self._weights)):
            raise CairnError(f"The optimiser's state has tensors of {strange[0]!r}, which this model does not train")
        self._load_masters({name: slots.pop(_MASTER) for name, slots in by_name.items() if _MASTER in slots})
        for optimizer, names, _ in self._parts:
            expected = _MUON if isinstance(optimizer, torch.optim.Muon) else _ADAMW
            slots = {index: by_name[name] for index, name in enumerate(names) if by_name.get(name)}
            if wrong := next((found for found in slots.values() if set(found) != expected), None):
                raise CairnError(
                    f"The optimiser's state holds {sorted(wrong)} where {sorted(expected)} is expected: it belongs to "
                    "another kind of optimiser. Continue with the settings that the run began with"
                )
            state = {index: self._cut(names[index], found) for index, found in slots.items()}
            optimizer.load_state_dict({"state": state, "param_groups": optimizer.state_dict()["param_groups"]})

    @torch.no_grad()
    def _load_masters(self, masters: Mapping[str, Tensor]) -> None:
        if odd := sorted(set(masters) ^ set(self._masters)):
            raise CairnError(
                f"The optimiser's state {'has' if odd[0] in masters else 'lacks'} a float32 master of {odd[0]!r}: it "
                "belongs to a run with another model.dtype. Continue with the settings that the run began with"
            )
        for name, master in self._masters.items():
            master.copy_(shared_like(masters[name], master))
        self._round()

    def _collect(self) -> None:
        """Move gradients that were set without a backward pass to the masters."""
        for name, master in self._masters.items():
            if self._weights[name].grad is not None:
                _add_gradient(master, self._weights[name])

    @torch.no_grad()
    def _round(self) -> None:
        if self._masters:
            torch._foreach_copy_(
                [_shard(self._weights[name]) for name in self._masters], list(map(_shard, self._masters.values()))
            )

    def _cut(self, name: str, slots: Mapping[str, Tensor]) -> dict[str, Tensor]:
        """Return this rank's shard of an optimiser's state of a weight; scalars are not sharded."""
        weight = self._weights[name]
        return {what: shared_like(value, weight) if value.ndim else value for what, value in slots.items()}


def _add_gradient(master: Tensor, weight: Tensor) -> None:
    """Add the weight's gradient to its master's, in float32, and clear it."""
    gradient, weight.grad = weight.grad, None
    if gradient is None:
        return
    if master.grad is None:
        master.grad = gradient.float()
    else:
        master.grad.add_(gradient)


def _shard(tensor: Tensor) -> Tensor:
    return tensor.to_local() if isinstance(tensor, DTensor) else tensor


def _hidden_matrices(model: Any, weights: Mapping[str, Tensor]) -> set[str]:  # Any: a transformers model
    """Return the names of matrices inside the layers, without embeddings and output layer."""
    edges = {id(p) for m in (model.get_input_embeddings(), model.get_output_embeddings()) for p in m.parameters()}
    return {name for name, p in weights.items() if p.ndim == 2 and id(p) not in edges}
