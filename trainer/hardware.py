"""The machine of a training process: torch's settings, and how much of the processor, memory and GPU an update used."""

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
    """Counts from when it was made or last asked."""

    def __init__(self) -> None:
        """Begin to count."""
        self._wall, self._processor = time.monotonic(), time.process_time()

    def metrics(self) -> dict[str, float]:
        """Return what this process used since it was last asked; environments in processes of their own do not count.

        hardware/cores: seconds of processor time a second of the clock, of all threads. hardware/memory_gb: the most
        that was resident since the process began, in 10^9 bytes. With a GPU, hardware/gpu_memory_gb: the most that
        tensors held since last asked; and where NVIDIA's library is installed (``nvidia-ml-py``), hardware/gpu: the
        share of the last sampling period, up to a second, in which a kernel ran.
        """
        wall, processor = time.monotonic(), time.process_time()
        cores = (processor - self._processor) / max(wall - self._wall, 1e-9)
        self._wall, self._processor = wall, processor
        resident = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * _MAXRSS_BYTES
        return {"hardware/cores": cores, "hardware/memory_gb": resident / _GB, **_gpu()}


def _gpu() -> dict[str, float]:
    if not torch.cuda.is_available():
        return {}
    told = {"hardware/gpu_memory_gb": torch.cuda.max_memory_allocated() / _GB}
    torch.cuda.reset_peak_memory_stats()
    with contextlib.suppress(ModuleNotFoundError):  # nvidia-ml-py is no part of torch
        told["hardware/gpu"] = torch.cuda.utilization() / 100
    return told


def set_up_torch(threads: int | None, deterministic: bool) -> None:
    """Set how many CPU threads torch uses, and whether equal inputs must give equal bits."""
    torch.set_num_threads(threads or int(os.environ.get("OMP_NUM_THREADS", 0)) or len(os.sched_getaffinity(0)))
    torch.use_deterministic_algorithms(deterministic)
