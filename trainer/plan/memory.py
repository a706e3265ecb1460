"""Memory of each process of a run on its device, by part, in bytes.

A process that runs torch keeps the memory of its largest phase, because torch's allocator does not return it to the
device. So a card needs the sum of the largest phases of its processes.

P is the number of trained weights of b bytes, R the number of learner ranks. Not covered: fragmentation, which the
reserve in `trainer.plan.plan` covers, and a reference policy's rounded copy (kind ema), which is freed before the
gradients of the same size are made.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from cairn.trainer.config import RunConfig
from cairn.trainer.plan.activations import activation_bytes, logit_bytes, micro_batch_tokens
from cairn.trainer.plan.device import GIB, Device
from cairn.trainer.plan.shape import BYTES, ModelShape

Parts = Mapping[str, float]

# Driver, kernels and cuBLAS workspace of a process: "around 400 MB" with lazy loading (pytorch/pytorch#109888). vLLM's
# share of the memory does not include it (vllm-project/vllm#12059).
_CONTEXT = 0.5 * GIB
_NCCL = 0.4 * GIB  # estimate: buffers of one communicator
_GRAPHS = 1.0 * GIB  # estimate: CUDA graphs of a vLLM engine
_BATCHED = 2048  # SchedulerConfig.DEFAULT_MAX_NUM_BATCHED_TOKENS of vLLM 0.32
_CHUNK = 96  # default of sampling.hf.chunk
_GROWTH = 1.5  # a cache of hf grows by half, and so to less than this many times the longest sequence
_DRAW = 28  # bytes per logit while hf samples: float32 logits, over temperature, logprobs; float64 exp and cumulative


@dataclass(frozen=True, kw_only=True)
class ProcessMemory:
    """The memory of a process in each phase of a run."""

    name: str
    phases: Mapping[str, Parts]

    @property
    def peak(self) -> str:
        """The phase with most memory."""
        return max(self.phases, key=lambda phase: sum(self.phases[phase].values()))

    @property
    def parts(self) -> Parts:
        """The parts in that phase."""
        return self.phases[self.peak]

    @property
    def total(self) -> float:
        """Bytes in that phase."""
        return sum(self.parts.values())


def moments(config: RunConfig, shape: ModelShape) -> float:
    """Return the bytes of the optimiser's state, all float32.

    AdamW has two moments, Muon has one for each matrix of the layers, and weights of 2 bytes have a master::

        4 (2 P - matrices of Muon) + 4 P with masters
    """
    single = shape.hidden if config.learner.optimizer.kind == "muon" else 0
    return 4.0 * (2 * shape.trained - single + shape.trained * shape.has_masters)


def reference_bytes(config: RunConfig, shape: ModelShape) -> float:
    """Return the bytes of the reference policy: b P if it is fixed, 4 P if it is a moving average."""
    sizes = {"none": 0, "initial": shape.trained_bytes, "ema": 4}
    return float(shape.trained * sizes[config.learner.reference.kind])


def weight_bytes(shape: ModelShape) -> float:
    """Return the bytes of the model's weights, with its adapters."""
    return float(shape.parameters * shape.bytes + 4 * shape.adapters)


def trainer_process(config: RunConfig, shape: ModelShape, device: Device) -> ProcessMemory:
    """Return the trainer's process: policy and learner, and hf where it samples or evaluates.

    With learner ranks it holds the learner's state too, on its GPU unless `RunConfig.trainer_computes` is false.
    """
    context = _context(device)
    if device.is_gpu and not config.trainer_computes:
        return ProcessMemory(name="trainer", phases={"all phases": context})
    states = {"optimiser": moments(config, shape), "reference": reference_bytes(config, shape)}
    base = {"weights": weight_bytes(shape), **states, **context}
    own = _hf_cache(config, shape) if config.cluster.workers == 0 else {}
    phases: dict[str, Parts] = {"between updates": {**base, **own}}
    if config.sampling.method == "hf":
        both = {"evaluation cache": _hf_cache(config, shape)["rollout cache"]}
        phases["evaluation"] = {**base, **own, **both, **_hf_pass(config, shape)}
    if config.cluster.ranks == 1:
        phases["backward pass"] = {**base, **own, **_backward(config, shape)}
        phases["optimiser step"] = {**base, **own, **_step(shape)}
    elif config.imitation.episodes:
        phases["warm start"] = {**base, "reference": 0.0, **_backward(config, shape)}
    return ProcessMemory(name="trainer", phases=phases)


def rank_process(config: RunConfig, shape: ModelShape, device: Device) -> ProcessMemory:
    """Return one of several learner ranks (FSDP2, `trainer.learner.distributed.shard`).

    ::

        gathered    b (root + 3 layers): FSDP2 keeps the root and two layers, and one layer's receive buffer
        reduction   b root + max(4 root, layer (b + 4 + 4)): gradients of the root until the pass ends, and one layer's
                    gradients, its float32 copy to send and that of the layer before
    """
    ranks, b = config.cluster.ranks, shape.bytes
    context = {**_context(device), **({"communication": _NCCL} if device.is_gpu else {})}
    weights = weight_bytes(shape)
    states = {"optimiser": moments(config, shape) / ranks, "reference": reference_bytes(config, shape) / ranks}
    base = {"weights": weights / ranks, **states, **context}
    root = 0 if shape.adapters else shape.root
    layer = (shape.trained - root) / shape.layers
    flow = {
        "gathered weights": float(b * (shape.root + 3 * shape.layer)),
        "gradient reduction": shape.trained_bytes * root
        + max(4 * root, layer * (shape.trained_bytes + (8 if shape.trained_bytes < 4 else 4))),
    }
    whole = {"whole model before sharding": weights, "weights": weights / ranks, **context}
    return ProcessMemory(
        name="learner",
        phases={
            "start": whole,
            "backward pass": {**base, **_backward(config, shape, ranks), **flow},
            "optimiser step": {**base, **_step(shape, ranks)},
            "state to the trainer": {**base, "gathered tensor": 8.0 * shape.largest},
        },
    )


def worker_process(config: RunConfig, shape: ModelShape, device: Device) -> ProcessMemory:
    """Return a rollout worker: policy and cache of hf; with vLLM, a process of its own, the policy is on the host."""
    parts: dict[str, float] = {}
    if config.sampling.method == "hf" or not device.is_gpu:
        parts |= {"weights": weight_bytes(shape), **_context(device), **_hf_cache(config, shape)}
    if config.sampling.method == "hf":
        parts |= _hf_pass(config, shape)
    return ProcessMemory(name="worker", phases={"all phases": parts})


def engine_process(config: RunConfig, shape: ModelShape, device: Device) -> ProcessMemory | None:
    """Return a vLLM engine on one of its devices; None with another back end, or without a GPU.

    `memory_share` of the device covers weights, the pass of `_BATCHED` tokens and the cache, not the CUDA context and
    graphs. With `cache_gib` the cache has that size, and the share must be free when the engine starts.
    """
    sampling = config.sampling
    if sampling.method != "vllm" or not device.is_gpu:
        return None
    settings, group = sampling.settings, tensor_parallel(config)
    b = BYTES.get(str(settings.get("dtype")), shape.bytes)
    weights = (shape.parameters + shape.adapters) * b / group
    wide = _BATCHED * (3 * shape.inner / group + 6 * shape.width) * b
    reloaded = shape.layer * b / group  # a layer is there twice while weights are loaded
    used = wide + sampling.slots * shape.vocabulary * 16.0 + reloaded  # 16: bfloat16 to float32, logprobs, softmax
    share = float(settings.get("memory_share", 0.4)) * device.memory
    given = settings.get("cache_gib")
    cache = max(share - weights - used, 0.0) if given is None else float(given) * GIB
    graphs = 0.0 if settings.get("enforce_eager", True) else _GRAPHS
    parts = {
        "vLLM weights": weights,
        "vLLM pass": used,
        "rollout cache": cache,
        "free at vLLM's start": max(share - weights - used - cache, 0.0),
        "CUDA graphs": graphs,
        **_context(device),
        **({"communication": _NCCL} if group > 1 else {}),
    }
    return ProcessMemory(name="vLLM", phases={"all phases": parts})


def tensor_parallel(config: RunConfig) -> int:
    """Return the devices of one rollout worker."""
    return int(config.sampling.settings.get("tensor_parallel", 1)) if config.sampling.method == "vllm" else 1


def cached_sequences(config: RunConfig, shape: ModelShape, device: Device) -> float | None:
    """Return the number of full-length sequences in the rollout's cache; None without a cache."""
    if config.sampling.method == "hf":
        return float(config.sampling.slots)
    engine = engine_process(config, shape, device)
    if engine is None:
        return None
    b = BYTES.get(str(config.sampling.settings.get("dtype")), shape.bytes)
    a_sequence = config.sampling.max_context * shape.cache_bytes * b / shape.bytes
    return engine.parts["rollout cache"] * tensor_parallel(config) / a_sequence


def _backward(config: RunConfig, shape: ModelShape, ranks: int = 1) -> Parts:
    """Return the memory at the start of a backward pass, beside weights and optimiser."""
    tokens, is_checkpointed = micro_batch_tokens(config), config.learner.checkpointing
    return {
        "gradients": 4.0 * shape.trained / ranks,  # float32, also of weights of 2 bytes
        "activations": activation_bytes(shape, tokens, is_checkpointed=is_checkpointed),
        "logits": logit_bytes(config, shape),
    }


def _step(shape: ModelShape, ranks: int = 1) -> Parts:
    """Return the memory of an optimiser step, beside weights and optimiser: two tensors of the largest weight's size.

    A fused AdamW, on a GPU without ranks, needs less.
    """
    return {
        "gradients": 4.0 * shape.trained / ranks,
        "temporary tensors": 8.0 * min(shape.largest, shape.trained) / ranks,
    }


def _hf_cache(config: RunConfig, shape: ModelShape) -> Parts:
    sampling = config.sampling
    if sampling.method != "hf":
        return {}
    return {"rollout cache": sampling.slots * sampling.max_context * _GROWTH * shape.cache_bytes}


def _hf_pass(config: RunConfig, shape: ModelShape) -> Parts:
    """Return the memory of a pass that reads a chunk of every slot's prompt, and of the draw of a token of each."""
    tokens = config.sampling.slots * int(config.sampling.settings.get("chunk", _CHUNK))
    wide = tokens * (3 * shape.inner + 6 * shape.width) * shape.bytes
    return {"rollout pass": float(max(wide, config.sampling.slots * shape.vocabulary * _DRAW))}


def _context(device: Device) -> Parts:
    return {"CUDA context": _CONTEXT} if device.is_gpu else {}
