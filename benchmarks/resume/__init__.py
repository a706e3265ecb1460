"""Checks that a killed and resumed run ends like an undisturbed one: `cairn bench resume`.

The quick start is shortened so that twenty kills take minutes, deterministic, and has episodes that continue over
updates. One run is undisturbed; another is killed with SIGKILL and resumed until it ends. If it ends before all kills
were made, a further run starts. Kills happen at any time: during the warm start, evaluations, updates and writing of
checkpoints. Weights, episodes with their advantages, and metrics are compared bit for bit.
"""

from __future__ import annotations

import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from cairn.benchmarks.outcome import Measurement, Row, row
from cairn.benchmarks.process import print_progress
from cairn.core.errors import CairnError
from cairn.core.store import RunStore
from cairn.core.store.digest import played

_CLOCKS = ("seconds/", "tokens_per_second")


@dataclass(frozen=True)
class ResumePlan:
    """The size of the run, and the number of kills."""

    kills: int
    settings: dict[str, object]


FULL = ResumePlan(
    20,
    {
        "trainer.updates": 8, "trainer.groups": 8, "trainer.group_size": 4, "imitation.episodes": 100,
        "imitation.epochs": 1, "eval.tasks": 5, "eval.every": 4,
    },
)  # fmt: skip
QUICK = ResumePlan(
    1,
    {
        "trainer.updates": 2, "trainer.groups": 4, "trainer.group_size": 4, "imitation.episodes": 10,
        "imitation.epochs": 1, "eval.tasks": 2, "eval.every": 2,
    },
)  # fmt: skip
_ALWAYS = {
    "trainer.deterministic": True,
    "trainer.checkpoint_every": 2,
    "schedule.over_provision": 1.25,
    "schedule.staleness": 2,
}


def run(*, quick: bool = False) -> Measurement:
    """Return the comparison of the killed runs with the undisturbed one."""
    plan = QUICK if quick else FULL
    with tempfile.TemporaryDirectory() as folder:
        calm = Path(folder) / "calm"
        seconds = _undisturbed(calm, plan)
        runs = _killed(Path(folder), plan, seconds)
        rows = _compared(calm, runs)
    what = f"resume: quick start with {plan.settings['trainer.updates']} updates"
    return Measurement(
        rows=[
            row(f"{what}: undisturbed", seconds, "s"),
            row(f"{what}: runs that were killed", float(len(runs)), "runs"),
            row(f"{what}: times killed with SIGKILL", float(plan.kills), "kills", None if quick else ">= 20"),
            *rows,
        ]
    )


def _command(folder: Path, plan: ResumePlan) -> list[str]:
    settings = {**_ALWAYS, **plan.settings}
    flags = [part for key, value in settings.items() for part in ("--set", f"{key}={str(value).lower()}")]
    return [str(Path(sys.executable).with_name("cairn")), "train", "quickstart", "--folder", str(folder), *flags]


def _undisturbed(folder: Path, plan: ResumePlan) -> float:
    began = time.monotonic()
    _to_the_end(folder, plan)
    return time.monotonic() - began


def _killed(folder: Path, plan: ResumePlan, seconds: float) -> list[Path]:
    """Kill runs at random moments as planned, finish the last one, and return the folders."""
    rng, runs, kills = random.Random(0), [folder / "killed-0"], 0
    while kills < plan.kills:
        process = subprocess.Popen(_command(runs[-1], plan), stdout=subprocess.DEVNULL)
        try:
            code = process.wait(timeout=rng.uniform(0.01, 0.3) * seconds)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
            kills += 1
            print_progress(f"resume: killed {kills} of {plan.kills} times")
        else:
            _check(code, runs[-1], plan)
            runs.append(folder / f"killed-{len(runs)}")
    _to_the_end(runs[-1], plan)
    return runs


def _to_the_end(folder: Path, plan: ResumePlan) -> None:
    _check(subprocess.run(_command(folder, plan), stdout=subprocess.DEVNULL, check=False).returncode, folder, plan)


def _check(code: int, folder: Path, plan: ResumePlan) -> None:
    if code:
        raise CairnError(f"resume: a run failed; try it by itself: {' '.join(_command(folder, plan))}")


@dataclass(frozen=True)
class _Ended:
    """The results of a finished run, which are equal for two equal runs."""

    weights: bytes
    episodes: list[tuple[object, ...]]
    metrics: list[tuple[str, Sequence[tuple[int, float]]]]
    is_intact: bool


def _ended(folder: Path) -> _Ended:
    newest = max((folder / "checkpoints").glob("update-*"))
    with RunStore(folder / "run.sqlite") as store:
        return _Ended(
            weights=(newest / "model.safetensors").read_bytes(),
            episodes=played(store),
            metrics=[(name, store.series(name)) for name in store.names() if not name.startswith(_CLOCKS)],
            is_intact=store.rows("PRAGMA integrity_check") == [("ok",)],
        )


def _compared(calm: Path, runs: Sequence[Path]) -> list[Row]:
    one, others = _ended(calm), [_ended(run) for run in runs]
    counts = ", ".join(str(len(other.episodes)) for other in others)
    return [
        _all("final weights equal, bit for bit", [other.weights == one.weights for other in others]),
        _all(
            "episodes with advantages equal, bit for bit",
            [other.episodes == one.episodes for other in others],
        ),
        _all("metrics equal, bit for bit", [other.metrics == one.metrics for other in others]),
        _all("run stores intact", [other.is_intact for other in others]),
        row("resume: episodes stored undisturbed", float(len(one.episodes)), "episodes", baseline=f"killed: {counts}"),
    ]


def _all(what: str, holds: Sequence[bool]) -> Row:
    return row(f"resume: {what}", float(all(holds)), "1: yes", ">= 1", "the undisturbed run")
