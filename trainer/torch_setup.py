"""What a process tells torch before it computes."""

from __future__ import annotations

import os

import torch


def set_up_torch(threads: int | None, deterministic: bool) -> None:
    """Set how many CPU threads torch uses, and whether equal inputs must give equal bits."""
    torch.set_num_threads(threads or int(os.environ.get("OMP_NUM_THREADS", 0)) or len(os.sched_getaffinity(0)))
    torch.use_deterministic_algorithms(deterministic)
