"""The benefit of schedules: lock-step, whole updates, partial and fully asynchronous ones.

A discrete-event simulation (`simulator`) with heavy-tailed replies, environments and episodes uses the real scheduling
rules (`agents.rollout.schedule`), with up to 10,000 episodes. The real engine, with environments and a back end that
sleep, validates the simulation.
"""

from __future__ import annotations

from cairn.benchmarks.outcome import Measurement, ResultTable, Row, row
from cairn.benchmarks.process import watched
from cairn.benchmarks.schedule import real
from cairn.benchmarks.schedule.simulator import Mode, SimulatedWorld, SimulationResult, simulate

MODES = {
    "whole updates": Mode(),
    "partial": Mode(over_provision=1.0, staleness=1),
    "fully asynchronous": Mode(batches=2.0, over_provision=3.0, staleness=4, is_apart=True),
}


def run(quick: bool = False) -> Measurement:
    """Simulate and compare; `quick` has at most 1,000 episodes in flight and takes under 45 s."""
    rows: list[Row] = []
    lines = []
    for in_flight in (128, 1000) if quick else (128, 1000, 10_000):
        world = SimulatedWorld(in_flight=in_flight, updates=8 if in_flight <= 1000 else 4)
        base = simulate(world, None)
        lines.append(_line(in_flight, "lock-step", base, base))
        for name, mode in watched(f"schedule: {in_flight:,} in flight", MODES.items()):
            found = simulate(world, mode)
            lines.append(_line(in_flight, name, found, base))
            rows += _rows(f"schedule: {name}, {in_flight:,} in flight", mode, found, base)
    rows += real.compare({name: mode for name, mode in MODES.items() if not mode.is_apart}, quick)
    columns = ("in flight", "schedule", "episodes/s", "against lock-step", "GPU busy", "environments busy", "staleness")
    return Measurement(rows=rows, tables=[ResultTable(title=_title(), columns=columns, rows=tuple(lines))])


def _rows(where: str, mode: Mode, found: SimulationResult, base: SimulationResult) -> list[Row]:
    is_target = mode.staleness > 0
    faster, busier = (">= 2.5", ">= 5") if is_target else (None, None)
    return [
        row(f"{where}, episodes/s", found.rate / base.rate, "x", faster, "lock-step"),
        row(f"{where}, environments busy", found.env_use / base.env_use, "x", busier, "lock-step"),
        row(f"{where}, GPU busy", found.gpu_use / base.gpu_use, "x", None, "lock-step"),
        row(f"{where}, largest staleness", float(found.staleness), "updates", f"<= {mode.staleness}"),
    ]


def _line(in_flight: int, name: str, found: SimulationResult, base: SimulationResult) -> tuple[str, ...]:
    return (
        f"{in_flight:,}", name, f"{found.rate:,.2f}", f"{found.rate / base.rate:.2f} x", f"{found.gpu_use:.0%}",
        f"{found.env_use:.1%}", str(found.staleness),
    )  # fmt: skip


def _title() -> str:
    world = SimulatedWorld(in_flight=1)
    return (
        f"Simulated. Environments: median {world.env_s:g} s a step, 99th percentile {world.env_p99_s:.0f} s; replies: "
        f"median {world.reply_tokens:g} tokens, 99th percentile {world.reply_p99_tokens:.0f}; episodes: median "
        f"{world.turns:g} turns, at most {world.most_turns}"
    )
