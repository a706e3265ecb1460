"""Gymnasium's vector environments over Cairn's: infos as arrays, autoreset, and separate processes."""

from __future__ import annotations

from typing import Any

import gymnasium
import numpy as np
import pytest

from cairn.core.keys import signed, unsigned
from cairn.core.plugins import ENVS
from cairn.envs import registry

NO_SHARED: dict[str, dict[str, Any]] = {"sync": {}, "async": {"shared_memory": False}}  # texts have no fixed size
IDS = [env_id for env_id in ENVS.ids() if not registry.load(env_id).meta.is_blocking]


@pytest.mark.parametrize("mode", NO_SHARED)
def test_infos_of_a_vector_environment_are_arrays(mode: str) -> None:
    envs = gymnasium.make_vec(
        "cairn/household", num_envs=4, vectorization_mode=mode, vector_kwargs=NO_SHARED[mode], size="tiny"
    )
    plain = gymnasium.make("cairn/household", size="tiny")
    texts, info = envs.reset(seed=[0, 1, 2, 3])  # type: ignore[arg-type]  # VectorEnv says less than both of its kinds take
    assert info["anchor"].dtype == np.int64
    for seed in range(4):
        text, own = plain.reset(seed=seed)
        assert (texts[seed], info["anchor"][seed], info["task_id"][seed]) == (text, own["anchor"], own["task_id"])
    _, rewards, terminated, truncated, info = envs.step(["look"] * 4)
    assert info["anchor"].shape == rewards.shape == terminated.shape == truncated.shape == (4,)
    envs.close()


@pytest.mark.parametrize("env_id", IDS)
def test_every_integer_of_info_fits_a_vector_environment(env_id: str) -> None:
    """To the end of episodes, whose last info is in `final_info` where episodes start again in the same step."""
    made: dict[str, Any] = {"turn_limit": 2}
    envs = gymnasium.vector.SyncVectorEnv(
        [lambda: registry.make(env_id, **made)] * 3, autoreset_mode=gymnasium.vector.AutoresetMode.SAME_STEP
    )
    try:
        envs.reset(seed=7)
        for _ in range(3):
            *_, info = envs.step([""] * 3)
            assert info["anchor"].dtype == np.int64
        final = info["final_info"] if "final_info" in info else envs.step([""] * 3)[4]["final_info"]
        assert final["anchor"].dtype == np.int64
    finally:
        envs.close()


@pytest.mark.parametrize("key", [0, 1, (1 << 63) - 1, 1 << 63, (1 << 64) - 1])
def test_a_key_and_its_signed_form_stand_for_each_other(key: int) -> None:
    assert -(1 << 63) <= signed(key) < 1 << 63
    assert unsigned(signed(key)) == key
    assert np.array([signed(key)]).astype(np.uint64)[0] == key
