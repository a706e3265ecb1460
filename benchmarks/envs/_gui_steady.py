"""Measures the memory growth of a browser environment over many resets."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from cairn.benchmarks.envs._gui_speed import end, made
from cairn.benchmarks.envs._measure import memory_mb, open_files
from cairn.benchmarks.outcome import Row, row
from cairn.benchmarks.process import in_fresh_process

RESETS, SETTLED = 1_000, 200  # memory is compared with that after `SETTLED` resets
_GROWTH, _QUICK = 1.1, 20


def rows(env_id: str, tasks: Sequence[str], quick: bool) -> Iterator[Row]:
    """Reset one page many times, with a click after each; `quick` makes few, without a bar."""
    resets = _QUICK if quick else RESETS
    settled = resets * SETTLED // RESETS
    (mb, own_mb, files), (later_mb, later_own_mb, later_files) = in_fresh_process(
        grown, env_id, tasks, (settled, resets)
    )
    baseline = f"after {settled:,}: {mb:.4g} MB"
    bar = None if quick else f"<= {_GROWTH}"
    yield row(f"{env_id}: the browser's memory after {resets:,} resets", later_mb / mb, "x", bar, baseline)
    baseline = f"after {settled:,}: {own_mb:.4g} MB"
    yield row(f"{env_id}: this process's memory after {resets:,} resets", later_own_mb / own_mb, "x", bar, baseline)
    bar = None if quick else "<= 5"
    yield row(
        f"{env_id}: growth in open files from {settled:,} resets to {resets:,}", later_files - files, "files", bar
    )


def grown(env_id: str, tasks: Sequence[str], after: Sequence[int]) -> list[tuple[float, float, int]]:
    """Return the browser's memory, this process's memory and its open files, after given resets."""
    env, found = made(env_id), []
    try:
        for count in range(1, max(after) + 1):
            _, info = env.reset(options={"task": tasks[count % len(tasks)]})
            env.step(next(iter(info["admissible_actions"]), "noop()"))
            if count in after:
                found.append((env._browser.memory_bytes() / 2**20, memory_mb(), open_files()))
    finally:
        end([env])
    return found
