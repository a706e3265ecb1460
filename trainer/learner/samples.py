"""Episodes and step advantages as token sequences with trained positions and weights.

Turns whose prompts extend the preceding turn become one sequence, so that each token is computed once. Positions with a
single allowed id have no gradient and are left out.

Worked example, two turns of one transcript (p: prompt, r: reply, f: a forced reply token)::

    ids        p0 p1 r0 f0 | p2 r1 r2
    positions        2            5  6      of the tokens that were decided
    turns            0            1  1      the turn of each position, whose advantage it gets
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from cairn.core.records import Episode, IntArray, Turn
from cairn.core.table import Flags, Floats


@dataclass(frozen=True, slots=True, kw_only=True)
class Sample:
    """A token sequence with D decided positions."""

    ids: IntArray  # [T]
    positions: IntArray  # [D] rising indices into ids, each at least 1
    old_logprobs: Floats  # [D] at sampling time, or recomputed before the update
    advantages: Floats  # [D]
    turns: IntArray  # [D] the turn of each position, counted from 0 in this sequence
    choice_ids: IntArray  # [sum of choices] allowed ids
    choice_offsets: IntArray  # [D + 1]; an empty range: the whole vocabulary was allowed
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

    def choices(self) -> list[IntArray]:
        """Return the allowed ids at each position."""
        ends = self.choice_offsets.tolist()
        return [self.choice_ids[start:stop] for start, stop in itertools.pairwise(ends)]


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
    positions, old, rows, choices, versions = [], [], [], [], []
    length = 0
    for row, (turn, is_learned) in enumerate(zip(turns, learned, strict=True)):
        if turn.prompt_ids is None or turn.reply_ids is None or turn.reply_logprobs is None:
            raise ValueError(f"a turn without token ids cannot be trained on (action {turn.action[:80]!r})")
        ids += [turn.prompt_ids, turn.reply_ids]
        length += len(turn.prompt_ids)
        for i, allowed in enumerate(_allowed(turn)):
            if is_learned and len(allowed) != 1:
                positions.append(length + i)
                old.append(float(turn.reply_logprobs[i]))
                rows.append(row)
                choices.append(allowed)
                versions.append(-1 if turn.policy_version is None else turn.policy_version)
        length += len(turn.reply_ids)
    return Sample(
        ids=np.concatenate(ids),
        positions=np.array(positions, np.int32),
        old_logprobs=np.array(old, np.float64),
        advantages=np.asarray(advantages, np.float64)[np.array(rows, np.int64)],
        turns=np.array(rows, np.int32),
        choice_ids=np.concatenate([np.empty(0, np.int32), *choices]).astype(np.int32),
        choice_offsets=np.cumsum([0, *(len(c) for c in choices)]).astype(np.int32),
        group=group,
        versions=np.array(versions, np.int32),
    )


def _allowed(turn: Turn) -> Iterator[IntArray]:
    """Yield the allowed ids of each reply token; empty: all."""
    assert turn.reply_ids is not None
    for i in range(len(turn.reply_ids)):
        if turn.constraint is None:
            yield np.empty(0, np.int32)
        else:
            offsets = turn.constraint.offsets
            yield turn.constraint.ids[offsets[i] : offsets[i + 1]]
