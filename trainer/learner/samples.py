"""Episodes and step advantages as token sequences with trained positions and weights.

Turns whose prompts extend the preceding turn become one sequence, so that each token is computed once. Positions with a
single allowed id have no gradient and are left out.

Worked example, two turns of one transcript (p: prompt, r: reply, f: a forced reply token)::

    ids        p0 p1 r0 f0 | p2 r1 r2
    positions        2            5  6      of the tokens that were decided
    turns            0            1  1      the turn of each position, whose advantage it gets
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from cairn.core.records import Constraint, Episode, IntArray, Turn
from cairn.core.table import Flags, Floats


@dataclass(frozen=True, slots=True, kw_only=True)
class Sample:
    """A token sequence with D decided positions."""

    ids: IntArray  # [T]
    positions: IntArray  # [D] rising indices into ids, each at least 1
    old_logprobs: Floats  # [D] at sampling time, or recomputed before the update
    advantages: Floats  # [D]
    turns: IntArray  # [D] the turn of each position, counted from 0 in this sequence
    allowed: Constraint  # the allowed ids at each of the D positions
    group: int = 0  # of the episode
    versions: IntArray | None = None  # [D] weight versions at sampling time; None: not sampled from the trained policy
    sampled_logprobs: Floats | None = None  # [D] if `old_logprobs` were recomputed since; None: `old_logprobs`
    is_weights: Floats | None = None  # [D] importance weights of tokens sampled by other weights; None: 1

    @property
    def loss_factors(self) -> Floats:
        """[D] The factor of each position's share of the loss."""
        return np.ones(len(self.positions)) if self.is_weights is None else self.is_weights

    @property
    def context(self) -> IntArray:
        """The model's input: the ids before the last decided one."""
        return self.ids[: self.positions[-1]]


def make_samples(episodes: Sequence[Episode], advantages: Floats, learned: Flags | None = None) -> list[Sample]:
    """Return the sequences of `episodes`; `advantages` has one value per turn.

    Turns whose flag in `learned` is False have no positions: they are only context of later turns. None: all turns are
    learned. Sequences without a decided position are left out, because they have no gradient.
    """
    num_turns = sum(len(episode.turns) for episode in episodes)
    if len(advantages) != num_turns:
        raise ValueError(f"expected one advantage for each of {num_turns} turns, got {len(advantages)}")
    kept = np.ones(num_turns, np.bool_) if learned is None else learned
    samples, row = [], 0
    for episode in episodes:
        for turns in merged(episode.turns):
            rows = slice(row, row + len(turns))
            sample = _sample(turns, advantages[rows], kept[rows], episode.group_id)
            row += len(turns)
            if len(sample.positions):
                samples.append(sample)
    return samples


def merged(turns: Sequence[Turn]) -> Iterator[list[Turn]]:
    """Yield runs of turns in which each turn extends the preceding one."""
    run: list[Turn] = []
    for turn in turns:
        if run and not turn.extends_previous:
            yield run
            run = []
        run.append(turn)
    if run:
        yield run


def _sample(turns: Sequence[Turn], advantages: Floats, learned: Flags, group: int) -> Sample:
    ids: list[IntArray] = []
    positions, old, rows, versions = [], [], [], []
    allowed: list[Constraint] = []
    length = 0
    for row, (turn, is_learned) in enumerate(zip(turns, learned, strict=True)):
        if turn.prompt_ids is None or turn.reply_ids is None or turn.reply_logprobs is None:
            raise ValueError(f"a turn without token ids cannot be trained on (action {turn.action[:80]!r})")
        ids += [turn.prompt_ids, turn.reply_ids]
        length += len(turn.prompt_ids)
        choices = Constraint.free(len(turn.reply_ids)) if turn.constraint is None else turn.constraint
        is_decided = (choices.sizes != 1) & is_learned
        decided = np.flatnonzero(is_decided)
        positions.append(length + decided)
        old.append(turn.reply_logprobs[decided])
        rows.append(np.full(len(decided), row))
        allowed.append(choices.where(is_decided))
        versions.append(np.full(len(decided), -1 if turn.policy_version is None else turn.policy_version))
        length += len(turn.reply_ids)
    row_of_position = np.concatenate(rows)
    return Sample(
        ids=np.concatenate(ids),
        positions=np.concatenate(positions).astype(np.int32),
        old_logprobs=np.concatenate(old).astype(np.float64),
        advantages=np.asarray(advantages, np.float64)[row_of_position],
        turns=row_of_position.astype(np.int32),
        allowed=Constraint.concatenate(allowed),
        group=group,
        versions=np.concatenate(versions).astype(np.int32),
    )
