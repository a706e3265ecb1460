"""Checkpoints: a folder that transformers can load, plus the learner's state.

A checkpoint is written to a temporary folder, with a manifest of content hashes, and then renamed, so that it is
complete or absent. A damaged or changed checkpoint is reported by name, and the preceding one is used. Nothing is
unpickled: tensors are safetensors, the rest is JSON.

Each checkpoint contains a moving reference policy. A fixed one is written once, beside the checkpoints, and each
checkpoint holds its hash: a run cannot resume with another reference.
"""

from __future__ import annotations

import errno
import json
import os
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from safetensors.torch import load_file, save_file
from torch import Tensor

from cairn.agents.models.policy import Policy
from cairn.core.errors import CairnError
from cairn.core.folders import check_manifest, file_hash, write_manifest
from cairn.trainer.learner.distributed import full_weights
from cairn.trainer.learner.learner import Learner

_ROLLOUT, _REFERENCE = "rollout.json", "reference.safetensors"


@dataclass(frozen=True)
class Checkpoint:
    """A complete checkpoint on disk."""

    folder: Path
    update: int  # number of completed updates
    state: Mapping[str, Any]  # the trainer's own JSON

    def rollout(self) -> dict[str, Any] | None:  # Any: JSON
        """Return the rollout's state, see `agents.rollout.source`; None before the first rollout."""
        path = self.folder / _ROLLOUT
        return json.loads(path.read_text()) if path.is_file() else None


def save(
    folder: Path,
    update: int,
    policy: Policy,
    learner: Learner,
    state: Mapping[str, Any],
    rollout: Mapping[str, Any] | None,
    keep: int,
) -> Path:
    """Write checkpoint `update` under `folder`, atomically, and keep only the `keep` newest.

    Every rank must call it, because weights and state are gathered; the first rank writes.

    Raises:
        CairnError: the disk is full, or the folder is not writable; earlier checkpoints stay intact.
    """
    target = folder / f"update-{update:06d}"
    partial = folder / f".partial-{update:06d}-{os.getpid()}"
    weights, moments = full_weights(policy.model), learner.optimizer.tensors()
    reference = None if learner.reference is None else learner.reference.tensors()
    if learner.ranks.rank:
        return target
    try:
        for stale in folder.glob(".partial-*"):  # of runs that were killed while writing
            shutil.rmtree(stale, ignore_errors=True)
        partial.mkdir(parents=True)
        policy.save(partial, weights)
        save_file(_contiguous(moments), partial / "optimizer.safetensors")
        if learner.reference is not None and reference is not None:
            place = folder if learner.reference.is_fixed else partial
            state = {**state, "reference": _write_reference(reference, place / _REFERENCE, is_first=update == 0)}
        (partial / "trainer.json").write_text(json.dumps({"update": update, "steps": learner.steps, **state}))
        if rollout is not None:
            (partial / _ROLLOUT).write_text(json.dumps(rollout))
        write_manifest(partial)
        shutil.rmtree(target, ignore_errors=True)
        partial.rename(target)
    except Exception as error:  # safetensors and tokenizers wrap system errors in their own exceptions
        shutil.rmtree(partial, ignore_errors=True)
        if isinstance(error, OSError) or "os error" in str(error):
            is_full = getattr(error, "errno", None) == errno.ENOSPC or "No space left" in str(error)
            hint = "free some space" if is_full else "check the folder"
            raise CairnError(
                f"Cannot write checkpoint {str(target)!r}: {error}; {hint}, then continue with --resume"
            ) from error
        raise
    # Later checkpoints are damaged, or belong to updates that a rollback discarded.
    others = sorted(folder.glob("update-*"), reverse=True)
    for old in [path for path in others if path > target] + [path for path in others if path <= target][keep:]:
        shutil.rmtree(old, ignore_errors=True)
    return target


def latest(folder: Path) -> tuple[Checkpoint | None, list[str]]:
    """Return the newest intact checkpoint under `folder`, and the problem of each newer one."""
    problems: list[str] = []
    for path in sorted(folder.glob("update-*"), reverse=True):
        try:
            if fault := check_manifest(path):
                raise ValueError(fault)
            state = json.loads((path / "trainer.json").read_text())
            return Checkpoint(folder=path, update=int(state["update"]), state=state), problems
        except (OSError, ValueError, KeyError, TypeError, RecursionError) as error:
            problems.append(f"checkpoint {path.name} is damaged ({error}) and was passed over")
    return None, problems


def restore_learner(checkpoint: Checkpoint, learner: Learner) -> None:
    """Restore the optimiser and the reference.

    Raises:
        CairnError: they belong to other settings, or the run's reference policy has changed.
    """
    learner.optimizer.load_tensors(load_file(checkpoint.folder / "optimizer.safetensors"))
    learner.steps = int(checkpoint.state["steps"])
    if learner.reference is not None:
        path = (checkpoint.folder.parent if learner.reference.is_fixed else checkpoint.folder) / _REFERENCE
        if checkpoint.state.get("reference") != (file_hash(path) if path.is_file() else "missing"):
            raise CairnError(
                f"learner.reference: {str(path)!r} is missing, or is not the reference policy that this run was held "
                "to. Continue with the settings that the run began with, or put the file back"
            )
        learner.reference.load_tensors(load_file(path))


def _write_reference(tensors: Mapping[str, Tensor], path: Path, *, is_first: bool) -> str:
    """Write the reference, unless it is fixed and exists, and return its hash."""
    if is_first or not path.is_file():
        new = path.with_suffix(".new")
        save_file(_contiguous(tensors), new)
        new.replace(path)
    return file_hash(path)


def _contiguous(tensors: Mapping[str, Tensor]) -> dict[str, Tensor]:
    return {name: tensor.contiguous() for name, tensor in tensors.items()}
