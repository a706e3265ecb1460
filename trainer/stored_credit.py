"""Credit on stored episodes: any method on what a run recorded, and where two methods disagree most.

Stored are anchors, actions, rewards, channels, endings and logprobs; what a critic or a rollout tree would add is not.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from cairn.core.errors import CairnError
from cairn.core.keys import text_key
from cairn.core.store import RunStore, read
from cairn.core.store.read import EpisodeRow, TurnRow
from cairn.core.table import Floats, StepTable


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredStep:
    """Where a row of a stored table stood."""

    update: int
    episode: int  # id in the store
    turn: int
    task: str
    action: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Disagreement:
    """A step on which two methods disagree; both values in units of their own standard deviation."""

    step: StoredStep
    first: float
    second: float


def stored_steps(store: RunStore, update: int | None = None) -> tuple[StepTable, list[StoredStep]]:
    """Return the training steps of one update, or of all, as a table in the order of the second result.

    Groups are those of training, update by update.

    Raises:
        CairnError: nothing is stored.
    """
    episodes = [e for e in read.episodes(store, phase="train", step=update) if e.ending != "failed" and e.turns]
    if not episodes:
        which = "any update" if update is None else f"update {update}"
        raise CairnError(f"Run store {str(store.path)!r} has no training episodes of {which}")
    return steps_of(store, episodes)


def steps_of(store: RunStore, episodes: Sequence[EpisodeRow]) -> tuple[StepTable, list[StoredStep]]:
    """Return these episodes' steps; those of one update and one group are compared with each other.

    Raises:
        CairnError: turns of one were forgotten.
    """
    turns = read.turns(store, [episode.id for episode in episodes])
    if forgotten := [e.id for e in episodes if len(turns[e.id]) != e.turns]:
        raise CairnError(f"The turns of {len(forgotten)} episodes, such as {forgotten[0]}, were forgotten to make room")
    groups = {pair: i for i, pair in enumerate(sorted({(e.step, e.group_id) for e in episodes}))}
    pairs = [(episode, turn) for episode in episodes for turn in turns[episode.id]]
    channels = _channels([turn.channels for _, turn in pairs])
    parts, is_deterministic = _declared(store)
    has_replies = all(turn.reply_tokens and turn.logprob is not None for _, turn in pairs)
    table = StepTable.from_columns(
        group=[groups[e.step, e.group_id] for e, _ in pairs],
        episode=[e.id for e, _ in pairs],
        turn=[turn.turn for _, turn in pairs],
        anchor=[turn.anchor for _, turn in pairs],
        action=[text_key(turn.action) for _, turn in pairs],
        next_anchor=[anchor for e in episodes for anchor in _following(e, turns[e.id])],
        knows_next=[t < e.turns - 1 or e.final_anchor is not None for e in episodes for t in range(e.turns)],
        reward=[turn.reward for _, turn in pairs],
        valid=[turn.valid for _, turn in pairs],
        success=[bool(e.success) for e, _ in pairs],
        truncated=[e.ending == "truncated" for e, _ in pairs],
        channels=channels,
        parts=parts if set(parts) <= set(channels) else (),
        length=[turn.reply_tokens or 0 for _, turn in pairs] if has_replies else None,
        logprob=[turn.logprob or 0.0 for _, turn in pairs] if has_replies else None,
        is_deterministic=is_deterministic,
    )
    steps = [
        StoredStep(update=e.step, episode=e.id, turn=turn.turn, task=e.task, action=turn.action) for e, turn in pairs
    ]
    return table, steps


def compare(
    steps: list[StoredStep], first: Floats, second: Floats, limit: int
) -> tuple[float, float, list[Disagreement]]:
    """Return how far two methods agree: Pearson's correlation, share of equal signs, and the widest disagreements.

    `first` and `second` stand in the order of `steps`. Signs are compared where both give some credit.
    """
    x, y = (a / spread if (spread := float(a.std())) > 0 else np.zeros_like(a) for a in (first, second))
    both = (x != 0) & (y != 0)
    has_spread = x.std() > 0 and y.std() > 0
    order = np.lexsort((np.arange(len(x)), -np.abs(x - y)))[:limit]
    return (
        float(np.corrcoef(x, y)[0, 1]) if has_spread else 0.0,
        float((np.sign(x) == np.sign(y))[both].mean()) if both.any() else 0.0,
        [Disagreement(step=steps[i], first=float(x[i]), second=float(y[i])) for i in order if x[i] != y[i]],
    )


def _following(episode: EpisodeRow, turns: Sequence[TurnRow]) -> list[int]:
    """Return the anchor that each turn led to; 0 where it is not known."""
    return [*(turn.anchor for turn in turns[1:]), episode.final_anchor or 0]


def _channels(found: Sequence[Mapping[str, float]]) -> dict[str, list[float]]:
    """Return every channel that some turn has; NaN where a turn does not."""
    return {name: [float(each.get(name, np.nan)) for each in found] for name in sorted(set().union(*found))}


def _declared(store: RunStore) -> tuple[tuple[str, ...], bool]:
    """Return the parts of the reward that the run's environment declared, and whether it declared to be deterministic.

    A store of before has none of this; only an environment that is registered here is then asked. A stored run may come
    from a stranger, and a dotted path would import any module.
    """
    meta = store.meta()
    kept = meta.get("declared")
    if isinstance(kept, Mapping):
        parts = kept.get("parts")
        listed = tuple(map(str, parts)) if isinstance(parts, list) else ()
        return listed, kept.get("is_deterministic") is True
    from cairn.envs import registry

    try:
        stored = meta["config"]["env"]
        if stored["id"] in registry.ids():
            declared = registry.declared(stored["id"], stored["config"])
            return declared.parts, declared.is_deterministic
    except (KeyError, TypeError, CairnError):  # no configuration, or an environment that cannot be loaded here
        pass
    return (), False
