"""How fast replies are sampled: the `hf` back end against `model.generate` on the whole prompt at every turn.

The same 64 household episodes with the quick start's model (fresh weights) and as many sampled tokens a turn, on one
thread: once with its own context, whose prompts extend each other, once with the published window.
`generate` gets all episodes of a turn as one padded batch, which is what it can do best.
"""

from __future__ import annotations

from cairn.benchmarks.outcome import Outcome, Row, row
from cairn.benchmarks.rollout.episodes import prompts, quickstart
from cairn.benchmarks.rollout.ways import by_backend, by_generate

CONTEXTS = {"transcript": ("append-only context", ">= 3"), "window": ("window context", ">= 1.3")}
EPISODES, REPLY_TOKENS = 64, 8


def run(quick: bool = False) -> Outcome:
    """Measure; `quick` plays fewer turns and answers in under 45 s."""
    import torch

    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        return Outcome(rows=[line for name in CONTEXTS for line in _context(name, 3 if quick else 10)])
    finally:
        torch.set_num_threads(before)


def _context(name: str, turns: int) -> list[Row]:
    policy, env = quickstart()
    episodes = prompts(policy, env, name, EPISODES, turns)
    ours, theirs = by_backend(policy, episodes, REPLY_TOKENS), by_generate(policy, episodes, REPLY_TOKENS)
    what, bar = CONTEXTS[name]
    where = f"rollout: {what}, {EPISODES} episodes"
    return [
        row(f"{where}, sampled tokens/s of the hf back end", ours.rate, "tokens/s"),
        row(f"{where}, sampled tokens/s of generate", theirs.rate, "tokens/s"),
        row(
            f"{where}, hf back end against generate", ours.rate / theirs.rate, "x", bar, "model.generate, whole prompts"
        ),
        row(f"{where}, computed tokens for each sampled one", ours.computed / ours.sampled, "tokens"),
        row(f"{where}, the same of generate", theirs.computed / theirs.sampled, "tokens"),
    ]
