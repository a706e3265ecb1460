"""Seeds and keys are the same everywhere, tell their inputs apart, and leave the process's random state alone."""

from __future__ import annotations

import random
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cairn.core.keys import bytes_key, text_key
from cairn.core.seeding import derive_seed, kept_random_state, numpy_generator, python_generator

CODE = (
    "from cairn.core.seeding import *; from cairn.core.keys import *\n"
    "print([derive_seed('env', 3), python_generator('a', 1).random(), numpy_generator('a', 1).random(),"
    " text_key('\\ud800', 5), bytes_key(b'x', 7)])"
)
# Golden values, from the code above. To change them is to change every published run.
GOLDEN_SEED = 8335310357123148921
GOLDEN_KEYS = [915639167694090757, 4248060192468963510]
TEXT = st.text(st.characters(codec=None), max_size=8)


@pytest.mark.parametrize("hash_seed", ["0", "1", "999"])
def test_seeds_and_keys_are_the_same_in_every_process(hash_seed: str) -> None:
    done = subprocess.run(
        [sys.executable, "-c", CODE], env={"PYTHONHASHSEED": hash_seed}, capture_output=True, text=True, check=True
    )
    here = [
        derive_seed("env", 3),
        python_generator("a", 1).random(),
        float(numpy_generator("a", 1).random()),
        text_key("\ud800", 5),
        bytes_key(b"x", 7),
    ]
    assert done.stdout.strip() == repr(here)
    assert here[0] == GOLDEN_SEED
    assert here[3:] == GOLDEN_KEYS


@given(st.lists(st.one_of(TEXT, st.integers()), max_size=4), st.lists(st.one_of(TEXT, st.integers()), max_size=4))
def test_different_parts_give_different_seeds(one: list[str | int], two: list[str | int]) -> None:
    assert (derive_seed(*one) == derive_seed(*two)) == (one == two and list(map(type, one)) == list(map(type, two)))


@pytest.mark.parametrize(
    ("one", "two"), [(("ab", "c"), ("a", "bc")), ((1,), ("1",)), (("a", "b"), ("b", "a")), ((), ("",))]
)
def test_seeds_differ_by_position_and_type_of_their_parts(
    one: tuple[str | int, ...], two: tuple[str | int, ...]
) -> None:
    assert derive_seed(*one) != derive_seed(*two)


def test_a_seed_has_63_bits() -> None:
    assert all(0 <= derive_seed(i) < 1 << 63 for i in range(1000))


def test_generators_leave_the_global_state_alone() -> None:
    before = random.getstate(), np.random.get_state()[1].tolist()  # type: ignore[index]  # the legacy form is a tuple
    python_generator(1).random()
    numpy_generator(1).random()
    assert before == (random.getstate(), np.random.get_state()[1].tolist())  # type: ignore[index]  # as above


def test_keys_depend_on_the_scope() -> None:
    assert len({bytes_key(b"same", scope) for scope in range(1000)}) == 1000
    assert all(0 <= bytes_key(b"same", scope) < 1 << 64 for scope in range(1000))


@given(TEXT, TEXT)
def test_different_texts_have_different_keys(one: str, two: str) -> None:
    assert (text_key(one) == text_key(two)) == (one == two)


def test_the_global_random_state_stays_as_it_was() -> None:
    before = random.getstate()
    with kept_random_state():
        random.random()
    assert random.getstate() == before
