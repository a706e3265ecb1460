"""Runs that do not fit, and the settings that the plan names: with them the plan fits."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from cairn.core.errors import ConfigError
from cairn.trainer.config import RunConfig, load_run_config
from cairn.trainer.plan.device import GIB, Device, device
from cairn.trainer.plan.plan import RunPlan, plan
from cairn.trainer.plan.remedies import with_settings
from tests.trainer.plan.known import SEVEN, recipe

ONE, EIGHT = "qwen2.5-1.5b-household", "qwen2.5-1.5b-household-8gpu"
PLACE = "cluster.placement"
HF = {"sampling.method": "hf", "sampling.slots": 64}
WHOLE_7B = {"sampling.vllm.memory_share": 0.25, "learner.micro_batch_tokens": 4096}


def refused(config: RunConfig, on: Device) -> RunPlan:
    """Return the plan of a run that does not fit, after checking that it fits with the settings that it names."""
    made = plan(config, on)
    assert made.problems
    assert made.remedy
    assert plan(with_settings(config, made.remedy), on).problems == []
    return made


@pytest.mark.parametrize(
    ("file", "changes", "on", "problem", "settings"),
    [
        (ONE, {"sampling.vllm.memory_share": 0.6}, "h100", "learner and rollout", {"sampling.vllm.memory_share"}),
        (EIGHT, {"sampling.vllm.memory_share": 0.85}, "h100x8", "trainer and roll", {"sampling.vllm.memory_share"}),
        (ONE, {"sampling.vllm.memory_share": 0.04}, "h100", "the rollout's cache", {"sampling.vllm.memory_share"}),
        (
            ONE,
            {"sampling.vllm.cache_gib": 60.0, "sampling.vllm.memory_share": 0.2},
            "h100",
            "learner and rollout",
            {"sampling.vllm.cache_gib"},
        ),
        (
            ONE,
            {"learner.micro_batch_tokens": 65_536, "sampling.vllm.memory_share": 0.05},
            "h100",
            "learner and rollout",
            {"learner.micro_batch_tokens"},
        ),
        (
            ONE,
            {
                "learner.checkpointing": False,
                "sampling.vllm.memory_share": 0.1,
                "sampling.max_context": 16_384,
                "sampling.max_reply_tokens": 16,
            },
            "h100",
            "learner and rollout",
            {"learner.checkpointing"},
        ),
        (ONE, {**HF, "sampling.slots": 512}, "h100", "learner and rollout", {"sampling.slots"}),
        (EIGHT, {f"{PLACE}.worker.gpus": 0.0}, "h100x8", f"{PLACE}.worker.gpus is 0", {f"{PLACE}.worker.gpus"}),
        (EIGHT, {f"{PLACE}.learner.gpus": 0.5}, "h100x8", f"{PLACE}.learner.gpus is 0.5", {f"{PLACE}.learner.gpus"}),
        (EIGHT, {}, "h100x4", "8 GPUs are needed and 4 are there", {"cluster.workers"}),
        (
            EIGHT,
            {"sampling.vllm.tensor_parallel": 2, "cluster.workers": 3},
            "h100x8",
            "cluster.placement.worker.gpus is 1",
            {"cluster.placement.worker.gpus"},
        ),
    ],
)  # fmt: skip
def test_the_named_setting_makes_a_run_fit(
    file: str, changes: dict[str, Any], on: str, problem: str, settings: set[str], folders: dict[str, str]
) -> None:
    made = refused(recipe(file, folders, **changes), device(on))
    assert made.problems[0].startswith(problem)
    assert made.remedy is not None
    assert set(made.remedy) == settings
    with pytest.raises(ConfigError, match=f"The run does not fit: .*It fits with --set {next(iter(made.remedy))}="):
        made.check()


def test_a_frozen_float32_base_becomes_bfloat16(folders: dict[str, str]) -> None:
    changes = {"model.dtype": "float32", "sampling.method": "hf", "sampling.slots": 1}
    config = recipe("qwen2.5-7b-household", folders, **changes)
    assert refused(config, replace(device("h100"), memory=44 * GIB)).remedy == {"model.dtype": "bfloat16"}


def test_adapters_make_7b_fit_one_gpu(folders: dict[str, str]) -> None:
    whole = recipe(ONE, folders, **{"model.path": folders[SEVEN], **WHOLE_7B})
    made = refused(whole, device("h100"))
    assert made.remedy == {"model.lora.rank": 16}


def test_more_ranks_make_7b_fit_eight_gpus(folders: dict[str, str]) -> None:
    config = recipe("qwen2.5-7b-household-8gpu", folders, **{"cluster.ranks": 2, "sampling.max_reply_tokens": 64})
    made = refused(config, device("h100x8"))
    assert made.problems[0].startswith("learner: ")
    assert made.remedy == {"cluster.ranks": 3}


def test_several_settings_are_named_where_one_is_not_enough(folders: dict[str, str]) -> None:
    greedy = {"sampling.vllm.memory_share": 0.6, "learner.micro_batch_tokens": 131_072}
    made = refused(recipe(ONE, folders, **greedy), device("h100"))
    assert made.remedy is not None
    assert set(made.remedy) == {"sampling.vllm.memory_share", "learner.micro_batch_tokens"}
    assert "--set sampling.vllm.memory_share=" in made.advice


def test_a_run_that_nothing_makes_fit_is_refused(folders: dict[str, str]) -> None:
    tiny = Device(name="tiny", memory=2 * GIB, flops=1e12, bandwidth=1e11)
    made = plan(recipe("qwen2.5-7b-household", folders), tiny)
    assert made.remedy is None
    with pytest.raises(ConfigError, match="No change of its settings that was tried makes it fit"):
        made.check()


def test_main_memory_is_refused_where_it_is_known(folders: dict[str, str]) -> None:
    config = recipe(EIGHT, folders)
    assert plan(config, replace(device("h100x8"), host=256 * GIB)).problems == []
    made = refused(config, replace(device("h100x8"), host=128 * GIB))
    assert made.problems[0].startswith("main memory of one machine: ")


def test_a_processor_holds_all_processes() -> None:
    tables = {"env": {"id": "examples.doors:Doors"}, "imitation": {"oracle": "reader"}}
    config = load_run_config(tables, {"model.preset": "qwen3-small", "cluster.workers": 2, "cluster.ranks": 2})
    small = Device(name="cpu", memory=64 * GIB, flops=1e11, bandwidth=1e10, is_gpu=False)
    made = plan(config, small)
    (role,) = made.roles
    assert [process.name for process in role.processes] == [
        "trainer", "worker", "worker", "learner", "learner", "main memory",
    ]  # fmt: skip
    assert made.problems == []
    refused(config, replace(small, memory=8 * GIB))
