"""Does a run that is killed at random moments end as if it had not been? `cairn bench resume`.

The quick start, shortened so that twenty kills fit into minutes, deterministic, and with episodes that go on over
updates: once undisturbed, once killed with SIGKILL and started again until it ends. Kills fall anywhere: into the warm
start, evaluations, updates, the writing of checkpoints. Weights, episodes with their advantages, and metrics are
compared bit for bit.
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

from cairn.benchmarks.outcome import Outcome, Row, row
from cairn.core.errors import CairnError
from cairn.core.store import RunStore

_CLOCKS = ("seconds/", "tokens_per_second")
_EPISODES = """
SELECT e.phase, e.step, e.task, e.group_id, e.ending, e.score, t.turn, t.action, t.reward, t.advantage, t.reply_ids,
  t.reply_logprobs, t.version FROM episodes e LEFT JOIN turns t ON t.episode = e.id ORDER BY e.id, t.turn
"""


@dataclass(frozen=True)
class Plan:
    """How much of the quick start is run, and how often it is killed."""

    kills: int
    settings: dict[str, object]


FULL = Plan(
    20,
    {"trainer.updates": 16, "imitation.episodes": 300, "imitation.epochs": 2, "eval.tasks": 20, "eval.every": 4},
)
QUICK = Plan(
    2,
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


def run(*, quick: bool = False) -> Outcome:
    """Return how the killed run compares."""
    plan = QUICK if quick else FULL
    with tempfile.TemporaryDirectory() as folder:
        calm, killed = Path(folder) / "calm", Path(folder) / "killed"
        seconds = _undisturbed(calm, plan)
        kills = _killed(killed, plan, seconds)
        rows = _compared(calm, killed)
    what = f"resume: quick start with {plan.settings['trainer.updates']} updates"
    return Outcome(
        rows=[
            row(f"{what}: undisturbed", seconds, "s"),
            row(f"{what}: times killed with SIGKILL", float(kills), "kills", None if quick else ">= 20"),
            *rows,
        ]
    )


def _command(folder: Path, plan: Plan) -> list[str]:
    settings = {**_ALWAYS, **plan.settings}
    flags = [part for key, value in settings.items() for part in ("--set", f"{key}={str(value).lower()}")]
    return [str(Path(sys.executable).with_name("cairn")), "train", "quickstart", "--folder", str(folder), *flags]


def _undisturbed(folder: Path, plan: Plan) -> float:
    began = time.monotonic()
    _to_the_end(folder, plan)
    return time.monotonic() - began


def _killed(folder: Path, plan: Plan, seconds: float) -> int:
    """Kill the run again and again at random moments, then let it end; return how often it was killed."""
    rng = random.Random(0)
    for kills in range(plan.kills):
        process = subprocess.Popen(_command(folder, plan), stdout=subprocess.DEVNULL)
        try:
            process.wait(timeout=rng.uniform(0.05, 0.5) * seconds if kills % 2 else rng.uniform(2.0, 0.3 * seconds))
            return kills  # it ended before
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
    _to_the_end(folder, plan)
    return plan.kills


def _to_the_end(folder: Path, plan: Plan) -> None:
    command = _command(folder, plan)
    if subprocess.run(command, stdout=subprocess.DEVNULL, check=False).returncode:
        raise CairnError(f"resume: a run failed; try it by itself: {' '.join(command)}")


def _compared(calm: Path, killed: Path) -> list[Row]:
    newest = max(path.name for path in (calm / "checkpoints").glob("update-*"))
    weights = [(run / "checkpoints" / newest / "model.safetensors").read_bytes() for run in (calm, killed)]
    with RunStore(calm / "run.sqlite") as one, RunStore(killed / "run.sqlite") as other:
        turns = [store.rows(_EPISODES) for store in (one, other)]
        metrics = [_metrics(store) for store in (one, other)]
        intact = other.rows("PRAGMA integrity_check") == [("ok",)]
    return [
        _equal("final weights, bit for bit", *weights),
        _equal("episodes and turns with advantages, bit for bit", *turns),
        _equal("metrics, bit for bit", *metrics),
        row("resume: run store intact", float(intact), "1: yes", ">= 1"),
        row("resume: turns stored", float(len(turns[1])), "turns", baseline=f"undisturbed: {len(turns[0])}"),
    ]


def _metrics(store: RunStore) -> list[tuple[str, Sequence[tuple[int, float]]]]:
    return [(name, store.series(name)) for name in store.names() if not name.startswith(_CLOCKS)]


def _equal(what: str, one: object, other: object) -> Row:
    return row(f"resume: {what}", float(one == other), "1: equal", ">= 1", "the undisturbed run")
