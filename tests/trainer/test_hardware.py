"""What an update used of the machine: against work of known size."""

from __future__ import annotations

import time

import pytest
import torch

from cairn.trainer.hardware import Hardware


def test_sleep_uses_no_core_and_work_uses_one() -> None:
    hardware = Hardware()
    time.sleep(0.3)
    assert hardware.metrics()["hardware/cores"] < 0.5
    spent = time.process_time() + 0.3
    began = time.monotonic()
    while time.process_time() < spent:
        pass
    took = time.monotonic() - began
    assert hardware.metrics()["hardware/cores"] == pytest.approx(0.3 / took, rel=0.2)  # 1, where no other work waits


def test_memory_is_the_most_that_there_was() -> None:
    before = Hardware().metrics()["hardware/memory_gb"]
    block = bytearray(b"x" * 300_000_000)
    del block
    after = Hardware().metrics()["hardware/memory_gb"]
    assert after >= before
    assert after > 0.3


@pytest.mark.parametrize(
    ("library", "told"),
    [(True, {"hardware/gpu_memory_gb": 2.5, "hardware/gpu": 0.75}), (False, {"hardware/gpu_memory_gb": 2.5})],
)
def test_a_gpu_is_told_of(monkeypatch: pytest.MonkeyPatch, library: bool, told: dict[str, float]) -> None:
    def utilization() -> int:
        if not library:
            raise ModuleNotFoundError("nvidia-ml-py does not seem to be installed")
        return 75

    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "max_memory_allocated", lambda: 2_500_000_000)
    monkeypatch.setattr(torch.cuda, "reset_peak_memory_stats", lambda: None)
    monkeypatch.setattr(torch.cuda, "utilization", utilization)
    metrics = Hardware().metrics()
    assert {name: value for name, value in metrics.items() if "gpu" in name} == told
