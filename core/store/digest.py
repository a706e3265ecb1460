"""Hashes of episodes without their times, to check whether two runs did the same."""

from __future__ import annotations

import json
from collections.abc import Iterable
from hashlib import sha256

from cairn.core.records import Episode
from cairn.core.store import read
from cairn.core.store.store import RunStore


def digest(episode: Episode) -> str:
    """Return the SHA-256 of an episode's task, turns, ending and result, as 64 hex digits.

    Left out: times, tokens' logprobs (which depend on the machine), pictures, and the groups of a run.
    """
    task, ending = episode.task, episode.ending
    final = episode.final
    content = [
        [task.env_id, task.task_id, task.split, task.seed],
        [
            [t.observation.text, t.observation.anchor, t.reply_text, t.action, t.reward, t.is_valid, dict(t.channels)]
            for t in episode.turns
        ],
        [ending.kind, ending.cause, episode.score, episode.success],
        None if final is None else [final.text, final.anchor],
    ]
    return sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()


def digest_all(episodes: Iterable[Episode]) -> str:
    """Return one hash of all episodes, independent of their order."""
    return sha256("".join(sorted(map(digest, episodes))).encode()).hexdigest()


def played(store: RunStore) -> list[tuple[object, ...]]:
    """Return each episode of a run with its tokens and advantages, comparable bit for bit.

    Equal for runs that did the same.
    """
    rows = read.episodes(store)
    return [
        (
            row.phase,
            row.step,
            row.group_id,
            row.prompt_tokens,
            digest(episode),
            tuple(turn.policy_version for turn in episode.turns),
            tuple(turn.reply_ids.tobytes() for turn in episode.turns if turn.reply_ids is not None),
            tuple(turn.reply_logprobs.tobytes() for turn in episode.turns if turn.reply_logprobs is not None),
            tuple((method, values.tobytes()) for method, values in read.advantages(store, row.id).items()),
        )
        for row, episode in zip(rows, read.whole_episodes(store, rows), strict=True)
    ]
