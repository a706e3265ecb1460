"""The simulator by hand, its properties, and its agreement with the real engine."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cairn.benchmarks.schedule import MODES, real
from cairn.benchmarks.schedule.simulator import Mode, SimulatedWorld, simulate

Episode = list[tuple[float, float]]


@dataclass(frozen=True, kw_only=True)
class Planned(SimulatedWorld):
    """Episodes of these turns, over and over."""

    plan: tuple[Episode, ...] = ()

    def episodes(self) -> Iterator[Episode]:
        while True:
            yield from self.plan


def test_lock_step_by_hand() -> None:
    """Two episodes; the GPU gives 20 tokens a second to one and 10 to each of two.

    Turn 1: the reply of 10 tokens takes 1 s beside the other's, whose last 20 take 1 s alone; then 3 s of environments.
    Turn 2: 2 s and 1 s for the second alone. Learning: 1 s. In all 9 s.
    """
    world = Planned(
        in_flight=2, group=1, updates=3, one_rate=20.0, busy_at=0.5, learn_s=1.0,
        plan=([(10, 3)], [(30, 1), (40, 1)]),
    )  # fmt: skip
    assert world.all_rate == 20.0
    found = simulate(world, None)
    assert found.rate == pytest.approx(2 / 9)
    assert found.env_use == pytest.approx((3 + 1 + 1) / (9 * 2))
    assert found.gpu_use == pytest.approx((80 + 20) / (9 * 20))


def test_whole_updates_by_hand() -> None:
    """The same two episodes go their own way.

    0-1 s both sample 10 tokens; the first steps until 4 and is over; the second samples until 2, steps until 3, samples
    until 5, steps until 6; learning until 7.
    """
    world = Planned(
        in_flight=2, group=1, updates=3, one_rate=20.0, busy_at=0.5, learn_s=1.0,
        plan=([(10, 3)], [(30, 1), (40, 1)]),
    )  # fmt: skip
    found = simulate(world, Mode())
    assert found.rate == pytest.approx(2 / 7)
    assert found.env_use == pytest.approx(5 / (7 * 2))
    assert found.gpu_use == pytest.approx((80 + 20) / (7 * 20))


def test_equal_episodes_leave_nothing_to_schedule() -> None:
    world = Planned(in_flight=16, updates=4, plan=([(60, 1), (60, 1)],))
    assert simulate(world, Mode()).rate == pytest.approx(simulate(world, None).rate)


@settings(max_examples=25, deadline=None)
@given(st.integers(8, 48), st.integers(0, 3), st.floats(0, 3), st.floats(1, 4), st.booleans(), st.integers(0, 99))
def test_no_schedule_is_staler_than_its_bound_or_busier_than_its_machines(
    in_flight: int, staleness: int, over: float, batches: float, is_apart: bool, seed: int
) -> None:
    staleness += is_apart  # groups that begin while the learner works are older by one
    mode = Mode(batches=batches, over_provision=min(over, staleness), staleness=staleness, is_apart=is_apart)
    found = simulate(SimulatedWorld(in_flight=in_flight, group=4, updates=5, seed=seed), mode)
    assert found.staleness <= staleness
    assert 0 < found.env_use <= 1
    assert 0 < found.gpu_use <= 1 + 1e-9


def test_the_bars_hold_at_the_stated_tails() -> None:
    world = SimulatedWorld(in_flight=128)
    base = simulate(world, None)
    for name in ("partial", "fully asynchronous"):
        found = simulate(world, MODES[name])
        assert found.rate >= 2.5 * base.rate
        assert found.env_use >= 5 * base.env_use


@pytest.mark.parametrize("mode", [pytest.param(Mode(), marks=pytest.mark.slow), Mode(over_provision=1.0, staleness=1)])
def test_the_real_engine_is_as_fast_as_its_simulation(mode: Mode) -> None:
    world = replace(real.WORLD, updates=3)
    assert real.played(world, mode) == pytest.approx(simulate(world, mode).rate, rel=0.4)
