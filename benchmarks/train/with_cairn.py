"""Updates by Cairn's training loop, including the run store."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Mapping
from pathlib import Path

from cairn.benchmarks.process import peak_memory_mb
from cairn.benchmarks.train.updates import UpdateTimes, Workload, run_config
from cairn.core.store import RunStore
from cairn.trainer.callbacks import Callback
from cairn.trainer.train import train


class _Clock(Callback):
    """Records the start and the end of an update."""

    def __init__(self) -> None:
        self.began = self.ended = (0.0, 0.0)  # wall and processor
        self.metrics: Mapping[str, float] = {}
        self.peak_mb = 0.0

    def on_phase(self, name: str, total: int) -> None:
        """Record the start of the rollout."""
        if name == "rollout":
            self.began = (time.perf_counter(), time.process_time())

    def on_update(self, update: int, metrics: Mapping[str, float]) -> None:
        """Record the end of the update, after the policy step and the store."""
        self.ended = (time.perf_counter(), time.process_time())
        self.metrics, self.peak_mb = metrics, peak_memory_mb()


def measure(folder: str, work: Workload, constrain: bool) -> UpdateTimes:
    """Train the policy in `folder`; run it in a separate process."""
    clock = _Clock()
    with tempfile.TemporaryDirectory() as run:
        train(run_config(work, folder, constrain), folder=run, callback=clock)
        return _update(clock, Path(run), work)


def _update(clock: _Clock, run: Path, work: Workload) -> UpdateTimes:
    seconds = clock.ended[0] - clock.began[0]
    with RunStore(run / "run.sqlite") as store:
        ((turns, env_s, reply_tokens),) = store.rows(
            "SELECT sum(turns), sum(seconds), sum(reply_tokens) FROM episodes WHERE phase = 'train' AND step = ?",
            (work.updates,),
        )
    rollout, learn = clock.metrics["seconds/rollout"], clock.metrics["seconds/learn"]
    return UpdateTimes(
        seconds=seconds,
        cpu_seconds=clock.ended[1] - clock.began[1],
        phases={
            "rollout": rollout - env_s,
            "environment": env_s,
            "logprobs": 0.0,
            "learn": learn,
            "other": seconds - rollout - learn,
        },
        episodes=work.episodes,
        turns=turns,
        sampled=reply_tokens,
        solved=round(clock.metrics["success"] * work.episodes),
        peak_mb=clock.peak_mb,
    )
