"""The optimisers behind the learner: AdamW for everything, or Muon for hidden matrices and AdamW for the rest.

Muon (torch.optim.Muon) makes each matrix's momentum orthogonal before it is applied. Small models that learn from
little need far fewer samples with it; embeddings, norms and the output layer stay with AdamW, as its authors say.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

import torch
from pydantic import Field
from torch import Tensor

from cairn.core.config import Config
from cairn.core.errors import CairnError

_MUON, _ADAMW = {"momentum_buffer"}, {"step", "exp_avg", "exp_avg_sq"}  # what each keeps for a parameter


class OptimizerConfig(Config):
    """Which optimiser, and how fast."""

    kind: Literal["adamw", "muon"] = Field("adamw", description="muon: for hidden matrices, with AdamW for the rest.")
    lr: float = Field(1e-3, gt=0, description="Peak learning rate of AdamW.")
    muon_lr: float = Field(3e-3, gt=0, description="Peak learning rate of Muon.")
    betas: tuple[float, float] = Field((0.9, 0.99), description="Decay rates of AdamW's moments.")
    momentum: float = Field(0.95, ge=0, lt=1, description="Of Muon.")
    weight_decay: float = Field(0.0, ge=0, description="Of both.")


class PolicyOptimizer:
    """One or two torch optimisers that step together; its state has a name for every tensor."""

    def __init__(self, model: Any, config: OptimizerConfig) -> None:
        self._config = config
        trained = {name: p for name, p in model.named_parameters() if p.requires_grad}
        inner = _hidden_matrices(model, trained) if config.kind == "muon" else {}
        outer = {name: p for name, p in trained.items() if name not in inner}
        self._parts: list[tuple[torch.optim.Optimizer, list[str], float]] = []
        adamw = torch.optim.AdamW(
            list(outer.values()), lr=config.lr, betas=config.betas, weight_decay=config.weight_decay
        )
        self._parts.append((adamw, list(outer), config.lr))
        if inner:
            muon = torch.optim.Muon(
                list(inner.values()), lr=config.muon_lr, momentum=config.momentum, weight_decay=config.weight_decay
            )
            self._parts.append((muon, list(inner), config.muon_lr))

    def step(self, rate: float) -> None:
        """Apply the gradients with `rate` times the peak learning rates, and clear them."""
        for optimizer, _, peak in self._parts:
            for group in optimizer.param_groups:
                group["lr"] = peak * rate
            optimizer.step()
            optimizer.zero_grad(set_to_none=True)

    def tensors(self) -> dict[str, Tensor]:
        """Return the state, by ``<parameter>/<what>``."""
        out: dict[str, Tensor] = {}
        for optimizer, names, _ in self._parts:
            for index, slots in optimizer.state_dict()["state"].items():
                out |= {f"{names[index]}/{what}": torch.as_tensor(value) for what, value in slots.items()}
        return out

    def load_tensors(self, tensors: Mapping[str, Tensor]) -> None:
        """Put back what `tensors` returned.

        Raises:
            CairnError: the state belongs to another model or another kind of optimiser.
        """
        by_name: dict[str, dict[str, Tensor]] = {}
        for key, tensor in tensors.items():
            name, _, what = key.rpartition("/")
            by_name.setdefault(name, {})[what] = tensor
        if strange := sorted(set(by_name) - {name for _, names, _ in self._parts for name in names}):
            raise CairnError(f"The optimiser's state has tensors of {strange[0]!r}, which this model does not train")
        for optimizer, names, _ in self._parts:
            slots = {index: by_name[name] for index, name in enumerate(names) if name in by_name}
            expected = _MUON if isinstance(optimizer, torch.optim.Muon) else _ADAMW
            if wrong := next((found for found in slots.values() if set(found) != expected), None):
                raise CairnError(
                    f"The optimiser's state holds {sorted(wrong)} where {sorted(expected)} is expected: it belongs to "
                    "another kind of optimiser. Go on with the settings that the run began with"
                )
            groups = optimizer.state_dict()["param_groups"]
            optimizer.load_state_dict({"state": slots, "param_groups": groups})


def _hidden_matrices(model: Any, trained: Mapping[str, Tensor]) -> dict[str, Tensor]:  # Any: a transformers model
    """Return the two-dimensional weights inside the layers: all but embeddings and output layer."""
    edges = {id(p) for m in (model.get_input_embeddings(), model.get_output_embeddings()) for p in m.parameters()}
    return {name: p for name, p in trained.items() if p.ndim == 2 and id(p) not in edges}
