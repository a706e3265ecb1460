"""Hardware used by an update: against work of known size."""

from __future__ import annotations

import subprocess
import sys
import threading
import time
from functools import partial
from types import SimpleNamespace

import pytest
import torch

from cairn.trainer import hardware
from cairn.trainer.hardware import Hardware


def test_cores_are_processor_seconds_per_second_since_the_last_call(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = {"monotonic": 100.0, "process_time": 7.0}
    monkeypatch.setattr(hardware, "time", SimpleNamespace(**{name: partial(clock.get, name) for name in clock}))
    counting = Hardware()
    for wall, processor, cores in ((2.0, 0.0, 0.0), (2.0, 1.0, 0.5), (0.5, 0.5, 1.0), (2.0, 6.0, 3.0)):
        clock["monotonic"] += wall
        clock["process_time"] += processor
        assert counting.metrics()["hardware/cores"] == pytest.approx(cores)


def test_processor_time_of_all_threads_counts() -> None:
    def work() -> None:
        while time.thread_time() < 0.1:
            pass

    counting, began = Hardware(), time.monotonic()
    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    cores = counting.metrics()["hardware/cores"]
    assert cores * (time.monotonic() - began) >= 0.05  # the clocks of threads and processes are read apart


@pytest.mark.rotating(3)
def test_memory_is_the_most_that_there_was() -> None:
    """In a new process, started by a shell: a process inherits the peak of the one that it was executed in."""
    program = """
from cairn.trainer.hardware import Hardware
before = Hardware().metrics()["hardware/memory_gb"]
block = bytearray(64_000_000)
during = Hardware().metrics()["hardware/memory_gb"]
del block
print(before, during, Hardware().metrics()["hardware/memory_gb"])
"""
    shell = ["sh", "-c", '"$@"; exit $?', "sh"]
    done = subprocess.run([*shell, sys.executable, "-c", program], capture_output=True, text=True, check=True)
    before, during, after = map(float, done.stdout.split())
    assert after >= during
    assert 0.04 < during - before < 0.08


@pytest.mark.parametrize(
    ("library", "reported"),
    [(True, {"hardware/gpu_memory_gb": 2.5, "hardware/gpu": 0.75}), (False, {"hardware/gpu_memory_gb": 2.5})],
)
def test_gpu_metrics_are_reported(monkeypatch: pytest.MonkeyPatch, library: bool, reported: dict[str, float]) -> None:
    def utilization() -> int:
        if not library:
            raise ModuleNotFoundError("nvidia-ml-py does not seem to be installed")
        return 75

    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "max_memory_allocated", lambda: 2_500_000_000)
    monkeypatch.setattr(torch.cuda, "reset_peak_memory_stats", lambda: None)
    monkeypatch.setattr(torch.cuda, "utilization", utilization)
    metrics = Hardware().metrics()
    assert {name: value for name, value in metrics.items() if "gpu" in name} == reported


def test_deterministic_mode_sets_what_cuda_needs_before_it_starts() -> None:
    """In another process, because the settings are global."""
    program = (
        "import os, torch\n"
        "from cairn.trainer.hardware import set_up_torch\n"
        "torch.backends.cudnn.benchmark = True\n"
        "set_up_torch(1, True)\n"
        "assert os.environ['CUBLAS_WORKSPACE_CONFIG'] == ':4096:8'\n"
        "assert torch.are_deterministic_algorithms_enabled() and not torch.backends.cudnn.benchmark\n"
        "assert not torch.utils.deterministic.fill_uninitialized_memory\n"
    )
    subprocess.run([sys.executable, "-c", program], check=True, timeout=120)
