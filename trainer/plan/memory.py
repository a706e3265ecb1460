"""Memory of a learner's rank and of a rollout worker, by part, in bytes.

Not covered: fragmentation, which the reserve in `trainer.plan.plan` covers.
"""

from __future__ import annotations

from cairn.trainer.config import RunConfig
from cairn.trainer.plan.device import GIB, Device
from cairn.trainer.plan.shape import ModelShape

Parts = dict[str, float]

_CONTEXT = 1.0 * GIB  # memory of an idle CUDA process
_OBSERVATION = 128  # assumed tokens of an observation, relative to those of a reply
_LOGIT_COPIES = 7  # float32 arrays [predictions, V]: logits, over temperature, logprobs, exp, finite, product, gradient


def learner_parts(config: RunConfig, shape: ModelShape, is_gpu: bool) -> Parts:
    """Return the peak memory of one learner rank, by part."""
    ranks, learner = config.cluster.ranks, config.learner
    is_mixed = shape.bytes == 2 and not shape.adapters  # float32 master weights beside bf16 ones
    trained_bytes = 4 if shape.adapters else shape.bytes
    moments = 1 if learner.optimizer.kind == "muon" else 2  # matrices dominate; Muon keeps one moment per matrix
    a_copy = shape.trained * (trained_bytes if learner.reference.kind == "initial" else 4.0)
    tokens = learner.micro_batch_tokens
    gathered = 2 * shape.parameters / shape.layers * shape.bytes if ranks > 1 else 0.0  # two layers at a time
    kept = tokens * shape.layers * shape.kept_bytes
    if learner.checkpointing:
        kept = tokens * (shape.layers * shape.width * shape.bytes + shape.kept_bytes)
    return {
        "weights": shape.parameters * shape.bytes / ranks + gathered,
        "gradients": shape.trained * trained_bytes / ranks,
        "optimiser": shape.trained * 4 * (moments + is_mixed) / ranks,
        "reference": 0.0 if learner.reference.kind == "none" else a_copy / ranks,
        "activations": kept,
        "logits": _predictions(config) * shape.vocabulary * 4.0 * _LOGIT_COPIES,
        "runtime": _CONTEXT if is_gpu else 0.0,
    }


def rollout_parts(config: RunConfig, shape: ModelShape, device: Device) -> Parts:
    """Return a rollout worker's memory per device, by part; empty with an external back end."""
    sampling = config.sampling
    is_apart = config.cluster.workers > 0  # else it samples with the learner's weights
    if sampling.method == "hf":
        cache = sampling.slots * sampling.max_context * shape.cache_bytes
        weights = shape.parameters * shape.bytes if is_apart else 0.0
        return {"rollout weights": weights, "rollout cache": cache}
    if sampling.method == "vllm" and device.is_gpu:
        held = shape.parameters * shape.bytes / tensor_parallel(config)
        share = float(sampling.settings.get("memory_share", 0.4))
        return {"rollout weights": held, "rollout cache": max(share * device.memory - held, 0.0)}
    return {}


def tensor_parallel(config: RunConfig) -> int:
    """Return the devices of one rollout worker."""
    return int(config.sampling.settings.get("tensor_parallel", 1)) if config.sampling.method == "vllm" else 1


def cached_sequences(config: RunConfig, shape: ModelShape, parts: Parts) -> float | None:
    """Return the number of full-length sequences in the rollout's cache; None without a cache."""
    if "rollout cache" not in parts:
        return None
    return parts["rollout cache"] * tensor_parallel(config) / (config.sampling.max_context * shape.cache_bytes)


def _predictions(config: RunConfig) -> float:
    """Return the decided tokens of a micro-batch, for replies of maximum length."""
    reply = config.sampling.max_reply_tokens
    return config.learner.micro_batch_tokens * reply / (reply + _OBSERVATION)
