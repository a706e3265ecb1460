"""Gymnasium's vector environments over Cairn's: infos as arrays, autoreset, and separate processes."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from copy import deepcopy
from itertools import product
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium.vector.utils import create_shared_memory, read_from_shared_memory, write_to_shared_memory

from cairn.core.errors import MissingDataError, MissingExtraError, MissingProgramError
from cairn.core.keys import signed, unsigned
from cairn.core.plugins import ENVS
from cairn.envs import registry
from cairn.envs._gymnasium import name_of
from cairn.envs.text_space import TextSpace
from tests.sampling import sampled_params

MODES: dict[str, tuple[Any, dict[str, Any]]] = {
    "sync": ("sync", {}),
    "async": ("async", {}),
    "async without shared memory": ("async", {"shared_memory": False}),
}
IDS = [env_id for env_id in ENVS.ids() if not registry.load(env_id).meta.is_blocking]


@pytest.mark.parametrize("mode", MODES)
def test_infos_of_a_vector_environment_are_arrays(mode: str) -> None:
    kind, settings = MODES[mode]
    envs = gymnasium.make_vec(
        "cairn/household", num_envs=4, vectorization_mode=kind, vector_kwargs=settings, size="tiny"
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


@pytest.mark.parametrize(("env_id", "mode"), sampled_params(product(ENVS.ids(), ["sync", "async"])))
def test_every_environment_works_in_vectors(env_id: str, mode: str) -> None:
    """Texts and anchors are those of single environments with the same seeds and actions."""
    with skipped_without_programs():
        envs: Any = gymnasium.make_vec(name_of(env_id), num_envs=2, vectorization_mode=mode)
    single = [registry.make(env_id) for _ in range(2)]
    try:
        with skipped_without_programs():
            texts, info = envs.reset(seed=[3, 4])
        begun = [env.reset(seed=seed) for env, seed in zip(single, (3, 4), strict=True)]
        assert [*zip(texts, info["anchor"], strict=True)] == [(text, own["anchor"]) for text, own in begun]
        for _ in range(2):
            actions = [env.oracle() for env in single]
            texts, rewards, over, _, info = envs.step(actions)
            shown = [env.step(action) for env, action in zip(single, actions, strict=True)]
            assert [*zip(texts, rewards, strict=True)] == [(text, reward) for text, reward, *_ in shown]
            if over.any():
                break
    finally:
        envs.close()
        for env in single:
            env.close()


@contextmanager
def skipped_without_programs() -> Iterator[None]:
    try:
        yield
    except (MissingExtraError, MissingProgramError, MissingDataError) as error:
        pytest.skip(str(error))


@pytest.mark.parametrize("key", [0, 1, (1 << 63) - 1, 1 << 63, (1 << 64) - 1])
def test_signed_and_unsigned_keys_convert_to_each_other(key: int) -> None:
    assert -(1 << 63) <= signed(key) < 1 << 63
    assert unsigned(signed(key)) == key
    assert np.array([signed(key)]).astype(np.uint64)[0] == key


@pytest.mark.parametrize("autoreset", list(gymnasium.vector.AutoresetMode))
@pytest.mark.parametrize("mode", MODES)
def test_texts_are_those_of_single_environments(mode: str, autoreset: gymnasium.vector.AutoresetMode) -> None:
    kind, settings = MODES[mode]
    envs: Any = gymnasium.make_vec(
        "cairn/household",
        num_envs=3,
        vectorization_mode=kind,
        vector_kwargs={**settings, "autoreset_mode": autoreset},
        size="tiny",
        turn_limit=4,
    )
    single = [registry.make("household", size="tiny", turn_limit=4) for _ in range(3)]
    try:
        texts, _ = envs.reset(seed=[0, 1, 2])
        assert list(texts) == [env.reset(seed=seed)[0] for seed, env in enumerate(single)]
        kept = texts
        for turn in range(4):
            texts, _, _, truncated, info = envs.step(["look", "inventory", "look"])
            shown = [env.step(said)[0] for env, said in zip(single, ["look", "inventory", "look"], strict=True)]
            is_last = turn == 3 and autoreset == gymnasium.vector.AutoresetMode.SAME_STEP
            assert list(info["final_obs"] if is_last else texts) == shown
        assert truncated.all()
        assert list(kept) != shown  # earlier observations do not change
    finally:
        envs.close()


def test_the_error_of_a_text_too_long_for_shared_memory_names_the_setting() -> None:
    write: Any = write_to_shared_memory  # Any: its type is that of arrays
    space, memory = TextSpace(1 << 20), create_shared_memory(TextSpace(1 << 20), 2)
    for index, text in enumerate(("\u00e9\ud800 x" * 9, "")):
        write(space, index, text, memory)
    found: Any = read_from_shared_memory(space, memory, 2)
    assert list(found) == ["\u00e9\ud800 x" * 9, ""]
    assert found == deepcopy(found)
    assert (found[-1], found[:1], len(found)) == ("", ("\u00e9\ud800 x" * 9,), 2)
    with pytest.raises(ValueError, match=r"70000 bytes does not fit .*shared_memory\": False"):
        write(space, 0, "x" * 70_000, memory)
