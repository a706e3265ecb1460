"""Sampling speed: the `hf` back end against `model.generate` on full prompts at every turn.

Both sides sample the same 64 household episodes with the quick start's model (newly initialised) and equal numbers of
tokens per turn, on one thread: once with the quick start's context, whose prompts extend each other, and once with the
published window. `generate` gets all episodes of a turn as one padded batch, its most efficient mode.
"""

from __future__ import annotations

import torch

from cairn.benchmarks.outcome import Measurement, Row, row
from cairn.benchmarks.process import in_forked_process, print_progress
from cairn.benchmarks.quickstart import environment, fresh_policy
from cairn.benchmarks.rollout import on_gpu
from cairn.benchmarks.rollout.episodes import prompts
from cairn.benchmarks.rollout.ways import Timed, by_backend, by_generate

CONTEXTS = {"transcript": ("append-only context", ">= 3"), "window": ("window context", ">= 1.3")}
EPISODES, REPLY_TOKENS = 64, 8


def run(quick: bool = False, gpu: bool = False) -> Measurement:
    """Measure each side in a separate process; `quick` plays fewer turns and takes under 45 s.

    `gpu`: only sampling on a GPU, see `on_gpu`.
    """
    if gpu:
        return Measurement(rows=on_gpu.rows())
    return Measurement(rows=[line for name in CONTEXTS for line in _context(name, 2 if quick else 10)])


def _context(name: str, turns: int) -> list[Row]:
    print_progress(f"rollout: context {name}")
    ours, theirs = (in_forked_process(_sample, name, turns, is_ours) for is_ours in (True, False))
    what, bar = CONTEXTS[name]
    where = f"rollout: {what}, {EPISODES} episodes"
    return [
        row(f"{where}, sampled tokens/s of the hf back end", ours.rate, "tokens/s"),
        row(f"{where}, sampled tokens/s of generate", theirs.rate, "tokens/s"),
        row(
            f"{where}, hf back end against generate", ours.rate / theirs.rate, "x", bar, "model.generate, whole prompts"
        ),
        row(f"{where}, episodes/s of the hf back end, no environment", EPISODES / ours.seconds, "episodes/s"),
        row(f"{where}, episodes/s of generate, no environment", EPISODES / theirs.seconds, "episodes/s"),
        row(f"{where}, computed tokens for each sampled one", ours.computed / ours.sampled, "tokens"),
        row(f"{where}, the same of generate", theirs.computed / theirs.sampled, "tokens"),
        row(f"{where}, peak memory of the hf back end", ours.peak_mb, "MB"),
        row(f"{where}, peak memory of generate", theirs.peak_mb, "MB"),
    ]


def _sample(context: str, turns: int, is_ours: bool) -> Timed:
    """Sample with one side; run it in a separate process."""
    torch.set_num_threads(1)
    policy = fresh_policy()
    episodes = prompts(policy, environment(), context, EPISODES, turns)
    return (by_backend if is_ours else by_generate)(policy, episodes, REPLY_TOKENS)
