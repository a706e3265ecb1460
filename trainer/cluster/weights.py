"""Transfer of a policy to another process: first its files, then only its trained weights.

Weights are sent as bytes because numpy has no bfloat16, and Ray shares arrays without a copy. Both sides must have the
same model, so that names and shapes agree; otherwise an error names the difference.
"""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from cairn.agents.models.policy import Policy, load_pretrained
from cairn.core.errors import CairnError

Weights = dict[str, np.ndarray]  # uint8


def files_of(policy: Policy) -> dict[str, bytes]:
    """Return the files of the policy's folder, by name."""
    with tempfile.TemporaryDirectory() as folder:
        policy.save(Path(folder))
        return {path.name: path.read_bytes() for path in Path(folder).iterdir()}


def policy_of(files: Mapping[str, bytes], dtype: str, *, is_computing: bool = True) -> Policy:
    """Return the policy whose files these are, on this process's GPU if it has one and computes with the policy."""
    with tempfile.TemporaryDirectory() as folder:
        for name, content in files.items():
            (Path(folder) / name).write_bytes(content)
        return load_pretrained(folder, dtype, "cuda" if is_computing and torch.cuda.is_available() else "cpu")


def weights_of(weights: Mapping[str, Tensor]) -> Weights:
    """Return the bytes of weights by name, such as those of `agents.models.lora.trained`."""
    return {
        name: weight.detach().cpu().contiguous().view(-1).view(torch.uint8).numpy() for name, weight in weights.items()
    }


@torch.no_grad()
def put_weights(policy: Policy, weights: Weights) -> None:
    """Copy these weights into the policy, in place.

    Raises:
        CairnError: they belong to another model.
    """
    mine = dict(policy.model.named_parameters())
    if strange := sorted(set(weights) - set(mine)):
        raise CairnError(f"Expected weights of this policy, got {strange[0]!r}, which it does not have")
    for name, content in weights.items():
        weight = mine[name]
        if content.nbytes != weight.nbytes:
            raise CairnError(f"Expected {weight.nbytes} bytes for weight {name!r}, got {content.nbytes}")
        weight.copy_(torch.tensor(content).view(weight.dtype).view(weight.shape))
