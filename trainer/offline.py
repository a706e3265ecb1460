"""Credit on stored episodes: any method on what a run recorded, and where two methods disagree most.

Stored are anchors, actions, rewards, channels, endings and logprobs; what a critic or a rollout tree would add is not.
"""

from __future__ import annotations

import json
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from cairn.core.errors import CairnError
from cairn.core.keys import text_key
from cairn.core.store import RunStore
from cairn.core.table import Floats, StepTable

_TURNS = """
SELECT e.step, e.group_id, t.episode, t.turn, t.anchor, t.action, t.reward, t.valid, e.success, e.ending,
       e.final_anchor, t.channels, t.reply_logprobs, e.task, t.observation
FROM turns t JOIN episodes e ON e.id = t.episode
WHERE e.phase = 'train' AND e.ending != 'failed' AND (? IS NULL OR e.step = ?) ORDER BY t.episode, t.turn
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredStep:
    """Where a row of a stored table stood."""

    update: int
    episode: int  # id in the store
    turn: int
    task: str
    observation: str
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
    rows = store.rows(_TURNS, (update, update))
    if not rows:
        which = "no update" if update is None else f"update {update}"
        raise CairnError(f"Run store {str(store.path)!r} has no training episodes of {which}")
    (
        step,
        group,
        episode,
        turn,
        anchor,
        action,
        reward,
        valid,
        success,
        ending,
        final,
        channels,
        logprobs,
        task,
        text,
    ) = zip(*rows, strict=True)
    groups = {pair: i for i, pair in enumerate(sorted(set(zip(step, group, strict=True))))}
    following = [int(x, 16) for x in (*anchor[1:], anchor[0])]
    is_last = [e != later for e, later in zip(episode, (*episode[1:], None), strict=True)]
    table = StepTable.from_columns(
        group=[groups[pair] for pair in zip(step, group, strict=True)],
        episode=episode,
        turn=turn,
        anchor=[int(x, 16) for x in anchor],
        action=[text_key(x) for x in action],
        next_anchor=[int(final[i] or "0", 16) if is_last[i] else following[i] for i in range(len(rows))],
        knows_next=[not last or end is not None for last, end in zip(is_last, final, strict=True)],
        reward=reward,
        valid=valid,
        success=success,
        truncated=[x == "truncated" for x in ending],
        channels=_channels(channels),
        length=None if (found := _replies(logprobs)) is None else [len(x) for x in found],
        logprob=None if found is None else [float(x.mean(dtype=np.float64)) for x in found],
        is_deterministic=_is_deterministic(store),
    )
    places = [
        StoredStep(update=u, episode=e, turn=t, task=k, observation=o, action=a)
        for u, e, t, k, o, a in zip(step, episode, turn, task, text, action, strict=True)
    ]
    return table, places


def compare(
    places: list[StoredStep], first: Floats, second: Floats, limit: int
) -> tuple[float, float, list[Disagreement]]:
    """Return how far two methods agree: Pearson's correlation, share of equal signs, and the widest disagreements.

    `first` and `second` stand in the order of `places`. Signs are compared where both give some credit.
    """
    x, y = (a / spread if (spread := float(a.std())) > 0 else np.zeros_like(a) for a in (first, second))
    both = (x != 0) & (y != 0)
    has_spread = x.std() > 0 and y.std() > 0
    order = np.lexsort((np.arange(len(x)), -np.abs(x - y)))[:limit]
    return (
        float(np.corrcoef(x, y)[0, 1]) if has_spread else 0.0,
        float((np.sign(x) == np.sign(y))[both].mean()) if both.any() else 0.0,
        [Disagreement(step=places[i], first=float(x[i]), second=float(y[i])) for i in order if x[i] != y[i]],
    )


def _channels(stored: tuple[str | None, ...]) -> dict[str, list[float]]:
    """Return every channel that some turn has; NaN where a turn does not."""
    parts = [json.loads(x) if x else {} for x in stored]
    return {name: [float(part.get(name, np.nan)) for part in parts] for name in sorted(set().union(*parts))}


def _replies(stored: tuple[bytes | None, ...]) -> list[npt.NDArray[np.float32]] | None:
    """Return the logprobs of each turn's reply; None unless every turn has some."""
    found = [np.frombuffer(x or b"", np.float32) for x in stored]
    return found if all(len(x) for x in found) else None


def _is_deterministic(store: RunStore) -> bool:
    """Return what the run's environment declares; False where it can no longer be found."""
    from cairn.envs.registry import load

    try:
        return bool(load(store.meta()["config"]["env"]["id"]).meta.is_deterministic)
    except (KeyError, CairnError):  # a store without a configuration, or an environment that is not installed here
        return False
