"""GiGPO in the simple style of public code: the baseline of speed claims and a reference.

Written from a description of that code, not copied: episode and state ids are strings in object arrays, and every row
compares all of them; statistics are dictionaries of lists; anchors are full texts. Averaging over step rows, mean only
(`averaging = "step"`, `normalize = "none"`), no invalid replies.
"""

from __future__ import annotations

import uuid
from collections import defaultdict
from collections.abc import Hashable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from cairn.core.table import Floats

Names = npt.NDArray[Any]  # Any: Python strings


def gigpo(
    group: Names, episode: Names, anchor: Names, reward: Floats, *, gamma: float = 0.95, weight: float = 1.0
) -> Floats:
    """Return one advantage per row, float64 [N]; an episode's rows are in the order of turns."""
    returns = _returns(episode, reward, gamma)
    scores = np.zeros(len(reward))
    for name in np.unique(episode):
        scores[np.where(episode == name)[0]] = reward[np.where(episode == name)[0]].sum()
    return _less_mean(scores, group) + weight * _less_mean(returns, _clusters(group, anchor))


def _returns(episode: Names, reward: Floats, gamma: float) -> Floats:
    """Return the discounted returns of each episode, assigned row by row."""
    by_episode = {}
    for name in np.unique(episode):
        total, found = 0.0, []
        for r in reversed(reward[np.where(episode == name)[0]].tolist()):
            total = r + gamma * total
            found.append(total)
        by_episode[name] = found[::-1]
    out = np.zeros(len(reward))
    for row in range(len(reward)):
        rows = np.where(episode == episode[row])[0]
        out[row] = by_episode[episode[row]][int(np.where(rows == row)[0][0])]
    return out


def _clusters(group: Names, anchor: Names) -> Names:
    """Return a new name for each distinct text of a group."""
    out = np.empty(len(group), object)
    for name in np.unique(group):
        rows = np.where(group == name)[0]
        names: dict[Hashable, str] = {}
        for row in rows:
            out[row] = names.setdefault(anchor[row], str(uuid.uuid4()))
    return out


def _less_mean(x: Floats, segment: Sequence[Hashable] | Names) -> Floats:
    members = defaultdict(list)
    for row, name in enumerate(segment):
        members[name].append(x[row])
    means = {name: float(np.mean(values)) if len(values) > 1 else float(values[0]) for name, values in members.items()}
    return np.array([x[row] - means[name] for row, name in enumerate(segment)])
