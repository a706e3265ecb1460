"""Every credit method keeps its advantages within a bound, for all rewards, replies and endings.

The rule: no advantage is larger than `BOUND`,

- for all rewards, where the settings divide by a standard deviation ("std" is among them);
- for rewards whose returns lie in [-1, 1], with all other settings: these may give advantages in units of rewards, so
  shifted rewards are divided by the largest return first.

Groups have up to 8 episodes of up to 20 turns. A new method is covered without editing this file.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal, get_args, get_origin

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cairn.core.config import Config
from cairn.core.plugins import CREDITS
from cairn.core.table import Floats, Ids, StepTable
from cairn.trainer.credit import advantages

BOUND = 100.0
Settings = dict[str, Any]


def choices(config: type[Config]) -> Iterator[tuple[str, Any]]:
    """Yield every field that takes one of a few values, with each value."""
    for name, field in config.model_fields.items():
        if field.annotation is bool:
            yield from ((name, value) for value in (False, True))
        elif get_origin(field.annotation) is Literal:
            yield from ((name, value) for value in get_args(field.annotation))


def variants(method: str) -> list[Settings]:
    """The defaults; every division by a standard deviation; and each other choice of one field beside those."""
    found = list(choices(CREDITS.load(method).config))
    scaled = {name: value for name, value in found if value == "std"}
    return [{}, scaled, *({**scaled, name: value} for name, value in found if value != "std" and name not in scaled)]


@dataclass(frozen=True, kw_only=True)
class Shape:
    """The numbers from which a table is made."""

    sizes: list[int]  # episodes of each group
    longest: int  # turns
    spreads: list[float]  # largest distances of two returns; each episode has one of them
    shift: float  # added to every episode's last reward
    is_uniform: bool  # every episode of a group has the same rewards
    earns: Literal["last", "every", "cancelling"]  # which turns have a reward
    invalid: float  # share of invalid replies
    cut: float  # share of truncated episodes
    empty: float  # share of replies without a token
    states: int  # different states of a group
    seed: int


shapes = st.builds(
    Shape,
    sizes=st.lists(st.integers(1, 8), min_size=1, max_size=3),
    longest=st.sampled_from([1, 2, 5, 20]),
    spreads=st.lists(st.sampled_from([2.0, 1e-2, 1e-4, 1e-6, 1e-9]), min_size=1, max_size=2),
    shift=st.sampled_from([0.0, 0.0, 1.0, -1e3, 1e6]),
    is_uniform=st.booleans(),
    earns=st.sampled_from(["last", "every", "cancelling"]),
    invalid=st.sampled_from([0.0, 0.1, 1.0]),
    cut=st.sampled_from([0.0, 0.5, 1.0]),
    empty=st.sampled_from([0.0, 0.3, 1.0]),
    states=st.sampled_from([1, 2, 5, 200]),
    seed=st.integers(0, 2**32 - 1),
)


def rewards(rng: np.random.Generator, turns: int, shape: Shape) -> Floats:
    """Return one episode's rewards, whose returns without the shift lie within half of a spread of 0."""
    out = np.zeros(turns)
    level = rng.choice([-1.0, 0.0, 1.0, rng.uniform(-1, 1)]) * rng.choice(shape.spreads) / 2
    if shape.earns == "every":
        out += level / turns * rng.choice([-1.0, 1.0], turns)
    elif shape.earns == "cancelling":
        out[0] = -level * (1 - 1e-7)
    out[-1] += level if shape.earns != "every" else 0.0
    return out


def table_of(shape: Shape, *, in_units: bool) -> StepTable:
    """Return the table of a shape, with every optional column that a method may need.

    Args:
        shape: the numbers that the table is drawn from.
        in_units: divide the rewards so that no return is larger than 1.
    """
    rng = np.random.default_rng(shape.seed)
    columns: dict[str, list[Any]] = {name: [] for name in ("group", "episode", "turn", "reward", "truncated")}
    episode = 0
    for group, size in enumerate(shape.sizes):
        turns = [int(rng.integers(1, shape.longest + 1)) for _ in range(size)]
        earned = [rewards(rng, turns[0], shape)] * size if shape.is_uniform else [rewards(rng, n, shape) for n in turns]
        for reward in earned:
            n = len(reward)
            columns["group"] += [group] * n
            columns["episode"] += [episode] * n
            columns["turn"] += range(n)
            columns["reward"] += [*reward[:-1], reward[-1] + shape.shift]
            columns["truncated"] += [bool(rng.random() < shape.cut)] * n
            episode += 1
    n = len(columns["group"])
    reward = np.array(columns.pop("reward"))
    if in_units:
        reward = reward / max(1.0, largest_return(reward, np.flatnonzero(np.array(columns["turn"]) == 0)))
    return StepTable.from_columns(
        group=columns["group"],
        episode=columns["episode"],
        turn=columns["turn"],
        truncated=columns["truncated"],
        reward=reward,
        anchor=rng.integers(0, shape.states, n),
        action=rng.integers(0, 3, n),
        valid=rng.random(n) >= shape.invalid,
        channels={
            "first part": reward / 4,
            "second part": reward - reward / 4,
            "match": rng.integers(0, 2, n),
            "implicit": shape.spreads[0] / 2 * rng.choice([-1.0, 0.0, 1.0], n),
            "change": 1 + 0.5 * rng.uniform(-1, 1, n),
            "outcome": rng.integers(0, 3, n),
            **{f"test/{i}": rng.integers(0, 2, n) for i in range(3)},
        },
        parts=("first part", "second part"),
        length=np.where(rng.random(n) < shape.empty, 0, rng.integers(1, 17, n)),
        logprob=-5 * rng.random(n),
        value=rng.uniform(-1, 1, n),
        final_value=rng.uniform(-1, 1, n),
        role=rng.integers(0, 2, n),
    )


def largest_return(reward: Floats, first_rows: Ids) -> float:
    """Return the largest size of a sum of rewards from some turn to the end of its episode."""
    return max(float(np.abs(np.cumsum(part[::-1])).max()) for part in np.split(reward, first_rows[1:]))


@pytest.mark.parametrize("method", CREDITS.ids())
@given(shape=shapes, data=st.data())
def test_no_advantage_is_larger_than_the_bound(method: str, shape: Shape, data: st.DataObject) -> None:
    variant = data.draw(st.sampled_from(variants(method)), label="settings")
    divides = "std" in CREDITS.load(method).config(**variant).model_dump().values()
    found = advantages(table_of(shape, in_units=not divides), method, **variant)
    assert np.abs(found).max() <= BOUND
