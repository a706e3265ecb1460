"""Memory and speed of a device: from a table of known devices, or measured on this machine."""

from __future__ import annotations

import os
import re
import time
from collections.abc import Callable
from dataclasses import dataclass

import torch

from cairn.core.errors import UnknownNameError

GIB = 1 << 30


@dataclass(frozen=True, kw_only=True)
class Device:
    """A type of device and the number of devices."""

    name: str
    memory: float  # bytes
    flops: float  # per second, of dense matrix products
    bandwidth: float  # memory bytes per second
    count: int = 1
    is_gpu: bool = True
    host: float | None = None  # bytes of the machine's main memory; None: unknown


# Dense bf16 and memory bandwidth from the vendors' data sheets. The plan leaves part of the memory to driver and
# allocator (`trainer.plan.plan`).
KNOWN = {
    "a100-40": Device(name="a100-40", memory=40 * GIB, flops=312e12, bandwidth=1.56e12),
    "a100": Device(name="a100", memory=80 * GIB, flops=312e12, bandwidth=2.04e12),
    "h100": Device(name="h100", memory=80 * GIB, flops=989e12, bandwidth=3.35e12),
    "h200": Device(name="h200", memory=141 * GIB, flops=989e12, bandwidth=4.8e12),
    "l40s": Device(name="l40s", memory=48 * GIB, flops=362e12, bandwidth=0.86e12),
    "4090": Device(name="4090", memory=24 * GIB, flops=165e12, bandwidth=1.01e12),
}


def device(name: str | None) -> Device:
    """Return a known device such as ``h100``, or eight of them, ``h100x8``.

    None: this machine's device, measured.

    Raises:
        UnknownNameError: no known device has that name.
    """
    if name is None:
        return at_hand()
    kind, _, count = name.partition("x") if re.fullmatch(r"[\w-]+x\d+", name) else (name, "", "1")
    if kind not in KNOWN:
        raise UnknownNameError("device", kind, KNOWN, "cairn train --help")
    found = KNOWN[kind]
    return Device(name=found.name, memory=found.memory, flops=found.flops, bandwidth=found.bandwidth, count=int(count))


def at_hand() -> Device:
    """Return this machine's GPUs, or else its processor, with measured speeds."""
    where = "cuda" if torch.cuda.is_available() else "cpu"
    kind = torch.bfloat16 if where == "cuda" else torch.float32
    size = 8192 if where == "cuda" else 1024
    a, b = (torch.randn(size, size, device=where, dtype=kind) for _ in range(2))
    flops = 2 * size**3 / _seconds(lambda: a @ b, where)
    block = torch.empty(256 << 20, dtype=torch.uint8, device=where)
    bandwidth = 2 * block.numel() / _seconds(block.clone, where)
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    if where == "cuda":
        total = torch.cuda.get_device_properties(0).total_memory
        name, count = torch.cuda.get_device_name(0), torch.cuda.device_count()
        return Device(name=name, memory=total, flops=flops, bandwidth=bandwidth, count=count, host=memory)
    threads = torch.get_num_threads()
    return Device(name=f"cpu, {threads} threads", memory=memory, flops=flops, bandwidth=bandwidth, is_gpu=False)


def _seconds(work: Callable[[], object], where: str) -> float:
    """Return the shortest of several run times."""
    best = float("inf")
    for _ in range(4):
        began = time.perf_counter()
        work()
        if where == "cuda":
            torch.cuda.synchronize()
        best = min(best, time.perf_counter() - began)
    return best
