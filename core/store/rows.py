"""Conversion of records to rows of the tables."""

from __future__ import annotations

import json
import sqlite3
import time
from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from cairn.core.keys import signed
from cairn.core.records import Episode, Tokens, Turn
from cairn.core.store.blobs import Body, pack

Row = tuple[object, ...]
EPISODE = (
    "INSERT INTO episodes (id, step, phase, task, group_id, seed, origin, parent, fork_turn, ending, cause, detail, "
    "score, success, reward, turns, final_anchor, prompt_tokens, reply_tokens, cost, seconds) "
    "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
)
TURN = (
    "INSERT INTO turns (episode, turn, anchor, action, reward, valid, version, seconds, channels, extends, logprob, "
    "prompt_tokens, cached_tokens, reply_tokens, cost, acted) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
)
EVENT = "INSERT INTO events (step, stored, kind, text) VALUES (?, ?, ?, ?)"
IMAGE = "INSERT INTO images (episode, turn, png) VALUES (?, ?, ?)"


def add_episodes(
    db: sqlite3.Connection, step: int, phase: str, episodes: Sequence[Episode], kinds: Sequence[str]
) -> int:
    """Write episodes with their turns and return the number of the first."""
    first = int(db.execute("SELECT coalesce(max(id), 0) + 1 FROM episodes").fetchone()[0])
    tasks: dict[Row, int] = {}
    for i, (episode, kind) in enumerate(zip(episodes, kinds, strict=True)):
        task = _task(db, tasks, episode, kind)
        db.execute(EPISODE, episode_row(first + i, step, phase, task, episode))
        db.executemany(TURN, turn_rows(first + i, episode))
        if packed := pack(Body.of(episode)):
            db.execute("INSERT INTO bodies VALUES (?, ?, ?, ?, ?)", (first + i, *packed))
        else:
            message = f"The texts of episode {first + i} are too long and were not stored"
            db.execute(EVENT, (step, time.time(), "not stored", message))
        db.executemany(IMAGE, image_rows(first + i, episode))
    return first


def _task(db: sqlite3.Connection, known: dict[Row, int], episode: Episode, kind: str) -> int:
    """Return the number of a task's row; insert the row if it is missing."""
    key = tuple(map(text, (episode.task.env_id, episode.task.task_id, episode.task.split, kind)))
    if key not in known:
        db.execute("INSERT OR IGNORE INTO tasks (env, task, split, type) VALUES (?, ?, ?, ?)", key)
        sql = "SELECT id FROM tasks WHERE env = ? AND task = ? AND split = ? AND type = ?"
        known[key] = int(db.execute(sql, key).fetchone()[0])
    return known[key]


def advantage_rows(
    first: int, episodes: Sequence[Episode], advantages: Mapping[str, Sequence[float]]
) -> list[tuple[int, str, bytes]]:
    """Return each episode's advantages as rows."""
    ends = np.cumsum([len(episode.turns) for episode in episodes])
    return [
        (first + i, method, part.tobytes())
        for method, values in advantages.items()
        for i, part in enumerate(np.split(np.asarray(values, np.float64), ends[:-1]) if len(episodes) else [])
        if len(part)
    ]


def token_counts(episode: Episode) -> list[Tokens | None]:
    """Return each turn's token counts: from its ids, else from the server; None if unknown."""
    found: list[Tokens | None] = []
    length = 0  # of the sequence so far
    for turn in episode.turns:
        if turn.prompt_ids is None or turn.reply_ids is None:
            found.append(turn.tokens)
            continue
        cached = length if turn.extends_previous else 0
        prompt = cached + len(turn.prompt_ids)
        cost = None if turn.tokens is None else turn.tokens.cost
        found.append(Tokens(prompt=prompt, cached=cached, reply=len(turn.reply_ids), cost=cost))
        length = prompt + len(turn.reply_ids)
    return found


def episode_row(number: int, step: int, phase: str, task: int, episode: Episode) -> Row:
    """Return an episode's row."""
    counts = [each for each in token_counts(episode) if each is not None]
    costs = [each.cost for each in counts if each.cost is not None]
    return (
        number,
        step,
        phase,
        task,
        episode.group_id,
        episode.task.seed,
        episode.origin,
        episode.parent,
        episode.fork_turn,
        episode.ending.kind,
        episode.ending.cause,
        text(episode.ending.detail),
        episode.score,
        None if episode.success is None else int(episode.success),
        episode.total_reward,
        len(episode.turns),
        None if episode.final is None else signed(episode.final.anchor),
        sum(each.prompt for each in counts) if counts else None,
        sum(each.reply for each in counts) if counts else None,
        sum(costs) if costs else None,
        sum(turn.seconds or 0.0 for turn in episode.turns),
    )


def turn_rows(number: int, episode: Episode) -> Iterator[Row]:
    """Return the rows of an episode's turns."""
    for t, (turn, tokens) in enumerate(zip(episode.turns, token_counts(episode), strict=True)):
        yield (
            number,
            t,
            signed(turn.observation.anchor),
            text(turn.action),
            turn.reward,
            int(turn.is_valid),
            turn.policy_version,
            turn.seconds,
            json.dumps(dict(turn.channels)) if turn.channels else None,
            int(turn.extends_previous),
            _mean_logprob(turn),
            *_counted(turn, tokens),
            json.dumps(turn.acted) if turn.acted is not None else None,
        )


def image_rows(number: int, episode: Episode) -> Iterator[Row]:
    """Return the rows of an episode's pictures."""
    for t, turn in enumerate(episode.turns):
        if turn.observation.image is not None:
            yield number, t, turn.observation.image
    if episode.final is not None and episode.final.image is not None:
        yield number, len(episode.turns), episode.final.image


def text(value: str) -> str:
    """Return a text with lone surrogates replaced, because SQLite cannot store them."""
    return value.encode("utf-8", "replace").decode("utf-8")


def _mean_logprob(turn: Turn) -> float | None:
    logprobs = turn.reply_logprobs
    return float(logprobs.mean(dtype=np.float64)) if logprobs is not None and len(logprobs) else None


def _counted(turn: Turn, tokens: Tokens | None) -> Row:
    if tokens is not None:
        return tokens.prompt, tokens.cached, tokens.reply, tokens.cost
    return None, None, None if turn.reply_ids is None else len(turn.reply_ids), None
