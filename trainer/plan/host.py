"""Main memory of the machine of a run, by part, in bytes: state that leaves the GPUs, and copies in transit.

All actors count as if they ran on one machine. Not covered: environments, sandboxes and the page cache.
"""

from __future__ import annotations

from cairn.trainer.config import RunConfig
from cairn.trainer.plan.device import GIB, Device
from cairn.trainer.plan.memory import Parts, ProcessMemory, moments, reference_bytes, weight_bytes
from cairn.trainer.plan.shape import ModelShape

_PROCESS = 2.0 * GIB  # resident memory of Python and torch with a CUDA context (pytorch/pytorch#113326)
_PLAIN = 0.4 * GIB  # the same without a GPU


def host_process(config: RunConfig, shape: ModelShape, device: Device) -> ProcessMemory:
    """Return the main memory that a run needs beside its devices.

    ::

        state       weights + optimiser + reference: as the ranks return it after every update
        update      2 states: the first rank's copy and Ray's
        checkpoint  the optimiser's state, where it is on a GPU: safetensors keeps all copies until the file is written
        start       the whole model in every actor, and its files in Ray
        weights     files in Ray for new workers, two versions in transit, two versions of files for each vLLM engine
    """
    cluster = config.cluster
    saved = shape.trained * shape.trained_bytes  # with adapters only these are sent and written
    state = saved + moments(config, shape) + reference_bytes(config, shape)
    is_vllm = config.sampling.method == "vllm"
    engines = (cluster.workers + 1) * is_vllm
    actors = cluster.workers + (cluster.ranks if cluster.ranks > 1 else 0)
    base = {
        "processes": (1 + actors + engines) * (_PROCESS if device.is_gpu else _PLAIN),
        "weights in Ray": 3.0 * saved if cluster.workers else 0.0,
        "weights for vLLM": 2.0 * saved * engines,
    }
    if device.is_gpu and is_vllm:
        base["workers' policies"] = weight_bytes(shape) * cluster.workers
    if device.is_gpu and not config.trainer_computes:
        base["trainer's state"] = weight_bytes(shape) + moments(config, shape) + reference_bytes(config, shape)
    phases: dict[str, Parts] = {"between updates": base}
    if device.is_gpu and config.trainer_computes:
        phases["checkpoint"] = {**base, "checkpoint": max(moments(config, shape), saved)}
    if cluster.ranks > 1:
        phases["update"] = {**base, "state of the ranks": 2 * state}
    if actors:
        together = max(cluster.workers, cluster.ranks)  # workers start first, ranks with the first update
        phases["start of the actors"] = {**base, "models before they are moved": together * weight_bytes(shape)}
    return ProcessMemory(name="main memory", phases=phases)
