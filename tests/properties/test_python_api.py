"""Odd values given to the functions of `cairn` lead to a `CairnError` or to a right answer, never to another error."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import cairn
from cairn.core.errors import CairnError
from cairn.core.table import StepTable

ENV = "tests.envs.faulty:Sound"
N = 4
COLUMNS: dict[str, Any] = {
    "group": [0, 0, 0, 0], "episode": [0, 0, 1, 1], "turn": [0, 1, 0, 1], "anchor": [1, 2, 1, 3],
    "action": [4, 5, 6, 7], "reward": [0.0, 1.0, 0.0, 0.0],
}  # fmt: skip
OPTIONAL = (
    "valid", "next_anchor", "knows_next", "success", "truncated", "trained", "length", "logprob", "value",
    "final_value", "role", "node", "past",
)  # fmt: skip
ODD = st.sampled_from([
    None, True, False, 0, 1, -1, 2**63, 2**64, -(2**70), 0.5, -0.0, math.nan, math.inf, -math.inf, "", "0", "False",
    "household", "no-such-thing", "x" * 300, "\ud800", b"bytes", [], {}, (), [None], ["a", "a"], {"a": 1}, {1: 2},
    object(), np.float32(1.5), np.int8(3), np.bool_(True), np.datetime64("NaT"), np.array([]), np.array([[1.0]]),
    float, print, 1j,
])  # fmt: skip
COLUMN = st.one_of(ODD, st.lists(ODD, min_size=N, max_size=N), st.lists(st.floats(), min_size=N, max_size=N))
FUZZ = settings(
    max_examples=400, derandomize=False, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)


def tried(call: Callable[..., Any], *arguments: Any, **named: Any) -> Any:
    """Return the call's result; None: it was refused as it should be."""
    try:
        return call(*arguments, **named)
    except CairnError as refusal:
        message = str(refusal)
    assert 0 < len(message) < 3000
    return None


@FUZZ
@given(st.dictionaries(st.sampled_from([*COLUMNS, *OPTIONAL]), COLUMN, max_size=3))
def test_columns(odd: dict[str, Any]) -> None:
    table = tried(StepTable.from_columns, **{**COLUMNS, **odd})
    if table is not None:
        assert len(table) == N
        assert np.isfinite(table.reward).all()
        found = tried(cairn.advantages, table, "grpo")  # which refuses rows of earlier updates
        assert found is None or np.isfinite(found).all()


@FUZZ
@given(
    st.one_of(ODD, st.sampled_from(["grpo", "gigpo", "gae", "closure"])),
    st.dictionaries(st.sampled_from(["gamma", "epsilon", "step_weight", "zzz"]), ODD, max_size=2),
)
def test_advantages(method: Any, named: dict[str, Any]) -> None:
    found = tried(cairn.advantages, StepTable.from_columns(**COLUMNS), method, **named)
    if found is not None:
        assert found.shape == (N,)
        assert np.isfinite(found).all()


@FUZZ
@given(
    st.one_of(ODD, st.just("household")),
    st.dictionaries(st.sampled_from(["size", "split", "turn_limit", "perturb", "num_tasks", "zzz"]), ODD, max_size=2),
)
def test_make(env_id: Any, config: dict[str, Any]) -> None:
    env = tried(cairn.make, env_id, **config)
    if env is not None:
        assert env.tasks()
        env.close()


@FUZZ
@given(
    st.dictionaries(
        st.sampled_from(["agent", "env", "panel", "config", "settings", "tasks", "seed", "attempts", "temperature"]),
        ODD,
        min_size=1,
        max_size=2,
    )
)
def test_evaluate(tmp_path: Path, odd: dict[str, Any]) -> None:
    named = {"agent": "random", "env": ENV, "tasks": 2, "root": tmp_path, **odd}
    found = tried(cairn.evaluate, named.pop("agent"), named.pop("env"), **named)
    if found is not None:
        assert found.parts[0].measures.episodes >= 1


@FUZZ
@given(
    ODD,
    st.dictionaries(
        st.sampled_from(
            [
                "trainer.updates",
                "env.id",
                "credit.method",
                "learner.rate",
                "trainer",
                "zzz",
                "seed",
                "model.preset",
                "agent.context.method",
            ]
        ),
        ODD,
        max_size=2,
    ),
)
def test_load_run_config(source: Any, overrides: dict[str, Any]) -> None:
    tried(cairn.load_run_config, source, overrides)
    found = tried(cairn.load_run_config, {"env": {"id": ENV}}, overrides)
    assert found is None or found.env.id
