"""Checkpoints: a folder that transformers loads as is, plus the learner's state; whole or not there at all.

A checkpoint is written beside its place and renamed into it, with a manifest of content hashes. A torn or changed one
is refused by name and the one before is used. Nothing here is unpickled: tensors are safetensors, the rest is JSON.

A reference policy that moves is in each checkpoint. One that stays is written once, beside them, and each holds its
hash: a run does not go on with another.
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
    update: int  # updates that it has behind it
    state: Mapping[str, Any]  # the trainer's own JSON

    def rollout(self) -> dict[str, Any] | None:  # Any: JSON
        """Return what was in flight: see `agents.rollout.source`; None: nothing had begun."""
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
    """Write checkpoint `update` under `folder`, atomically, and delete all others but the `keep - 1` before it.

    Every rank must ask, for weights and state are gathered; the first one writes.

    Raises:
        CairnError: there is no space, or the folder cannot be written; what was there before is intact.
    """
    target = folder / f"update-{update:06d}"
    partial = folder / f".partial-{update:06d}-{os.getpid()}"
    weights, moments = full_weights(policy.model), learner.optimizer.tensors()
    reference = None if learner.reference is None else learner.reference.tensors()
    if learner.ranks.rank:
        return target
    try:
        for stale in folder.glob(".partial-*"):  # of runs that were killed while they wrote
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
    except Exception as error:  # safetensors and tokenizers report what the system refused as their own exceptions
        shutil.rmtree(partial, ignore_errors=True)
        if isinstance(error, OSError) or "os error" in str(error):
            is_full = getattr(error, "errno", None) == errno.ENOSPC or "No space left" in str(error)
            hint = "free some space" if is_full else "check the folder"
            raise CairnError(
                f"Cannot write checkpoint {str(target)!r}: {error}; {hint}, then continue with --resume"
            ) from error
        raise
    # Later ones are damaged, or of a future that this run went back from.
    others = sorted(folder.glob("update-*"), reverse=True)
    for old in [path for path in others if path > target] + [path for path in others if path <= target][keep:]:
        shutil.rmtree(old, ignore_errors=True)
    return target


def latest(folder: Path) -> tuple[Checkpoint | None, list[str]]:
    """Return the newest intact checkpoint under `folder`, and what was wrong with each newer one."""
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
    """Put the optimiser and the reference back.

    Raises:
        CairnError: they belong to other settings, or the run's reference policy is not what it was.
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
    """Write the reference and return its hash; one that stays is there already, except at the run's beginning."""
    if is_first or not path.is_file():
        new = path.with_suffix(".new")
        save_file(_contiguous(tensors), new)
        new.replace(path)
    return file_hash(path)


def _contiguous(tensors: Mapping[str, Tensor]) -> dict[str, Tensor]:
    return {name: tensor.contiguous() for name, tensor in tensors.items()}
