"""The machine of a training process: torch's settings, and use of processor, memory and GPU."""

from __future__ import annotations

import contextlib
import os
import resource
import sys
import time

import torch

_MAXRSS_BYTES = 1 if sys.platform == "darwin" else 1024  # the unit of ru_maxrss
_GB = 1e9


class Hardware:
    """Measures resource use since construction or the last call of `metrics`."""

    def __init__(self) -> None:
        """Start the measurement."""
        self._wall, self._processor = time.monotonic(), time.process_time()

    def metrics(self) -> dict[str, float]:
        """Return this process's resource use since the last call.

        Environments in other processes do not count.

        hardware/cores: processor seconds of all threads per second of wall time. hardware/memory_gb: peak resident
        memory since the start of the process, in 10^9 bytes. With a GPU, hardware/gpu_memory_gb: peak memory of tensors
        since the last call; and with NVIDIA's library (``nvidia-ml-py``), hardware/gpu: the share of the last sampling
        period, up to a second, in which a kernel ran.
        """
        wall, processor = time.monotonic(), time.process_time()
        cores = (processor - self._processor) / max(wall - self._wall, 1e-9)
        self._wall, self._processor = wall, processor
        resident = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * _MAXRSS_BYTES
        return {"hardware/cores": cores, "hardware/memory_gb": resident / _GB, **_gpu()}


def _gpu() -> dict[str, float]:
    if not torch.cuda.is_available():
        return {}
    metrics = {"hardware/gpu_memory_gb": torch.cuda.max_memory_allocated() / _GB}
    torch.cuda.reset_peak_memory_stats()
    with contextlib.suppress(ModuleNotFoundError):  # nvidia-ml-py is not part of torch
        metrics["hardware/gpu"] = torch.cuda.utilization() / 100
    return metrics


def set_up_torch(threads: int | None, deterministic: bool) -> None:
    """Set torch's number of CPU threads, and whether equal inputs must give equal bits."""
    torch.set_num_threads(threads or int(os.environ.get("OMP_NUM_THREADS", 0)) or len(os.sched_getaffinity(0)))
    torch.use_deterministic_algorithms(deterministic)
    if deterministic:
        os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")  # read when CUDA starts
        torch.backends.cudnn.benchmark = False
        # torch does not declare this setting
        torch.utils.deterministic.fill_uninitialized_memory = False  # type: ignore[attr-defined]  # it costs time, and no result depends on it
