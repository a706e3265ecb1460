"""Checks of the machine: GPUs and driver, threads, memory, free disk space, and the browser."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

from cairn.cli._doctor.finding import Finding, refused
from cairn.core.errors import MissingProgramError

GIB = 1 << 30
_LEAST_DISK = 5 * GIB  # a quick-start run with its checkpoints takes well under one GiB
_LEAST_MEMORY = 4 * GIB


def machine() -> Iterator[Finding]:
    """Yield the findings about the machine."""
    yield _device()
    yield _threads()
    yield _memory()
    yield from _disks()
    yield _browser()


def _device() -> Finding:
    import torch

    driver = driver_version()
    if torch.cuda.is_available():
        names = [torch.cuda.get_device_properties(index) for index in range(torch.cuda.device_count())]
        devices = ", ".join(f"{each.name} with {each.total_memory / GIB:.0f} GiB" for each in names)
        found = f"cuda {torch.version.cuda}: {devices}; driver {driver or 'unknown'}"
        return Finding(section="machine", what="device", is_well=True, found=found)
    if driver is None:
        return Finding(section="machine", what="device", is_well=True, found="cpu (there is no GPU with a driver)")
    built = torch.version.cuda
    why = f"torch for CUDA {built} does not work with it" if built else "this torch is built for CPUs alone"
    mend = "" if built else "pip install --force-reinstall torch  # a build for CUDA"
    found = f"cpu, though there is a GPU with driver {driver}: {why}"
    return Finding(section="machine", what="device", is_well=None, found=found, mend=mend or "update the GPU's driver")


def driver_version() -> str | None:
    """Return the version of NVIDIA's driver, or None if it is missing or does not answer."""
    program = shutil.which("nvidia-smi")
    if program is None:
        return None
    ask = [program, "--query-gpu=driver_version", "--format=csv,noheader"]
    try:
        done = subprocess.run(ask, capture_output=True, text=True, timeout=10)
    except (OSError, subprocess.TimeoutExpired):  # a broken driver counts as missing
        return None
    lines = done.stdout.split()
    return lines[0] if done.returncode == 0 and lines else None


def _threads() -> Finding:
    import torch

    cpus = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    # Two OpenMP threads that wait for a busy core by spinning are several times slower than one.
    is_busy = not os.environ.get("OMP_NUM_THREADS") and os.getloadavg()[0] >= cpus / 2
    found = f"{torch.get_num_threads()} of {cpus} CPUs" + (", and the machine is busy" if is_busy else "")
    mend = "export OMP_NUM_THREADS=1" if is_busy else ""
    return Finding(section="machine", what="threads", is_well=True, found=found, mend=mend)


def _memory() -> Finding:
    size = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    found = f"{size / GIB:.1f} GiB"
    if size < _LEAST_MEMORY:
        mend = "cairn train quickstart --set sampling.slots=16"
        return Finding(section="machine", what="memory", is_well=None, found=f"{found}: little", mend=mend)
    return Finding(section="machine", what="memory", is_well=True, found=found)


def _disks() -> Iterator[Finding]:
    from cairn.envs.webshop.shop import cache_folder

    places = {"runs": Path("runs"), "cache": cache_folder(), "temporary": Path(tempfile.gettempdir())}
    sets = {"runs": "cairn train ... --folder DIR", "cache": "export CAIRN_CACHE=DIR", "temporary": "export TMPDIR=DIR"}
    for what, place in places.items():
        there = _nearest(place)
        free = shutil.disk_usage(there).free
        is_writable = os.access(there, os.W_OK)
        is_well = is_writable and free >= _LEAST_DISK
        found = f"{place.absolute()}: {free / GIB:.1f} GiB free" if is_writable else f"{place.absolute()}: read-only"
        mend = "" if is_well else sets[what]
        yield Finding(
            section="machine", what=f"disk, {what}", is_well=True if is_well else None, found=found, mend=mend
        )


def _nearest(place: Path) -> Path:
    """Return the place, or its nearest parent folder that exists."""
    return next(path for path in (place.absolute(), *place.absolute().parents) if path.exists())


def _browser() -> Finding:
    from cairn.sandboxes.browser.find import find_browser

    try:
        return Finding(section="machine", what="browser", is_well=True, found=find_browser())
    except MissingProgramError as error:
        return refused("machine", "browser", error)
