"""Model FLOPs by hand, omitted measurements, and that a step of the small model really learns."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from cairn.benchmarks.train import utilisation
from cairn.benchmarks.train.utilisation import StepShape, build, measure, peak_of, shape_of, step_flops

TINY: dict[str, Any] = {  # Any: as transformers takes them
    "hidden_size": 8,
    "intermediate_size": 16,
    "num_hidden_layers": 2,
    "num_attention_heads": 2,
    "num_key_value_heads": 1,
    "vocab_size": 10,
    "tie_word_embeddings": True,
}


def test_weights_of_a_small_model_by_hand() -> None:
    """One layer: queries 8*8 + 8, keys and values 2 * (8*4 + 4), output 8*8, feed-forward 3 * 8*16, two norms of 8.

    72 + 72 + 64 + 384 + 16 = 608; two layers and the last norm: 1224. Output layer: 10 * 8.
    """
    expected = StepShape(hidden_weights=1224, output_weights=80, layers=2, width=8)
    assert shape_of(build(TINY, False, "cpu")) == expected
    assert shape_of(build({**TINY, "tie_word_embeddings": False}, False, "cpu")) == expected


def test_flops_of_a_step_by_hand() -> None:
    """5 tokens in sequences of 2 and 3, 4 of them decided; tokens look at 1 + 2 and 1 + 2 + 3 keys.

    6 * (100 * 5 + 10 * 4) = 3240; attention 12 * 2 * 8 * 9 = 1728.
    """
    assert step_flops(StepShape(hidden_weights=100, output_weights=10, layers=2, width=8), [2, 3], 4) == 3240 + 1728


@pytest.mark.parametrize("recompute", [False, True])
def test_a_step_changes_the_weights_and_has_a_rate(recompute: bool) -> None:
    rate, seconds = measure(TINY, [12, 8], recompute, 2, "cpu")
    decided = 3 + 2  # places 1, 5, 9 and 1, 5
    assert rate * seconds == pytest.approx(step_flops(shape_of(build(TINY, False, "cpu")), [12, 8], decided))


def test_recomputing_activations_is_really_on() -> None:
    assert build(TINY, True, "cpu").is_gradient_checkpointing
    assert not build(TINY, False, "cpu").is_gradient_checkpointing


@pytest.mark.parametrize(
    ("device", "peak"),
    [
        ("NVIDIA H100 80GB HBM3", 989e12),
        ("NVIDIA H100 PCIe", 756e12),
        ("NVIDIA A100-SXM4-80GB", 312e12),
        ("NVIDIA L40S", 362e12),
        ("NVIDIA L40", 181e12),
        ("NVIDIA L4", 121e12),
        ("GeForce 256", None),
    ],
)
def test_the_peak_is_that_of_the_device(device: str, peak: float | None) -> None:
    assert peak_of(device) == peak


def test_without_a_device_a_row_reports_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    (row,) = utilisation.rows(quick=True)
    assert "not measured: no CUDA device" in str(row["name"])
    assert (row["value"], row["holds"]) == (None, None)


def test_an_unknown_device_has_no_utilisation(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "get_device_name", lambda: "GeForce 256")
    (row,) = utilisation.rows(quick=True)
    assert "'GeForce 256' is not in the table" in str(row["name"])


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
def test_a_known_device_is_measured_both_ways() -> None:
    rows = utilisation.rows(quick=True)
    assert len([row for row in rows if row["unit"] == "of peak"]) == 2
