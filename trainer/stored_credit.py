"""Credit on stored episodes: any method on a run's records, and where methods disagree.

The store has anchors, actions, rewards, channels, endings and logprobs, but no columns from a critic or a rollout tree.
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
    """The origin of a row of a stored table."""

    update: int
    episode: int  # id in the store
    turn: int
    task: str
    action: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Disagreement:
    """A step on which two methods disagree; values in units of their standard deviation."""

    step: StoredStep
    first: float
    second: float


def stored_steps(store: RunStore, update: int | None = None) -> tuple[StepTable, list[StoredStep]]:
    """Return the training steps of one update or of all as a table, with each row's origin.

    Groups are those of training, per update.

    Raises:
        CairnError: the store has no training episodes.
    """
    episodes = [e for e in read.episodes(store, phase="train", step=update) if e.ending != "failed" and e.turns]
    if not episodes:
        which = "any update" if update is None else f"update {update}"
        raise CairnError(f"Run store {str(store.path)!r} has no training episodes of {which}")
    return steps_of(store, episodes)


def steps_of(store: RunStore, episodes: Sequence[EpisodeRow]) -> tuple[StepTable, list[StoredStep]]:
    """Return these episodes' steps; a group combines an update and a group of training.

    Raises:
        CairnError: the store has deleted the turns of an episode.
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
    """Return Pearson's correlation, the share of equal signs and the largest disagreements.

    `first` and `second` are in the order of `steps`. Signs are compared where both values are nonzero.
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
    """Return the anchor after each turn; 0 if unknown."""
    return [*(turn.anchor for turn in turns[1:]), episode.final_anchor or 0]


def _channels(found: Sequence[Mapping[str, float]]) -> dict[str, list[float]]:
    """Return every channel of the turns; NaN for turns without it."""
    return {name: [float(each.get(name, np.nan)) for each in found] for name in sorted(set().union(*found))}


def _declared(store: RunStore) -> tuple[tuple[str, ...], bool]:
    """Return the environment's declared parts of the reward, and whether it is deterministic.

    Stores of earlier versions lack these facts; then only an environment that is registered here is loaded. A stored
    run may come from an untrusted source, and a dotted path could import any module.
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
    except (KeyError, TypeError, CairnError):  # no configuration, or an environment that cannot be loaded
        pass
    return (), False
