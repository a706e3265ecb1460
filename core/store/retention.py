"""Deletion of old data from a run's file that exceeds its size limit.

Deleted first, oldest first: texts, tokens and pictures of training episodes; then those of evaluations; then turns of
training episodes. The newest update and evaluation are never touched. Episodes with their scores, metrics and turns of
evaluations are kept. SQLite reuses the freed space, so the file keeps its size.
"""

from __future__ import annotations

import sqlite3

_LEFT = 0.9  # fraction of the limit that remains in use after a deletion
_IS_OLD = "phase = :phase AND step < (SELECT max(step) FROM episodes WHERE phase = :phase)"
_BODIES = f"""
SELECT e.id, coalesce((SELECT length(texts) + length(prompt_ids) + length(reply_ids) + length(reply_logprobs)
                       FROM bodies WHERE episode = e.id), 0)
           + coalesce((SELECT sum(length(png)) FROM images WHERE episode = e.id), 0) AS size
FROM episodes e WHERE {_IS_OLD} AND size > 0 ORDER BY step, e.id
"""
_TURNS = f"""
SELECT e.id, (SELECT count(*) FROM turns WHERE episode = e.id) * 150 AS size
FROM episodes e WHERE {_IS_OLD} AND size > 0 ORDER BY step, e.id
"""
_IN_ORDER = (  # the data for the event's text, the phase, the query of sizes, and the tables
    ("texts of {} training episodes", "train", _BODIES, ("bodies", "images")),
    ("texts of {} episodes of evaluations", "eval", _BODIES, ("bodies", "images")),
    ("turns of {} training episodes", "train", _TURNS, ("turns", "advantages")),
)


def make_room(db: sqlite3.Connection, most: int) -> str:
    """Delete until at most `most` bytes are used, and describe the deleted data; "" if none was."""
    parts = []
    for what, phase, sql, tables in _IN_ORDER:
        excess = used_bytes(db) - most
        if excess <= 0:
            break
        chosen = _oldest(db, sql, phase, excess + (1 - _LEFT) * most)
        for table in tables:
            db.executemany(f"DELETE FROM {table} WHERE episode = ?", [(each,) for each in chosen])
        if chosen:
            parts.append(what.format(len(chosen)))
    return " and ".join(parts)


def used_bytes(db: sqlite3.Connection) -> int:
    """Return the number of bytes of the file that are in use."""
    pages, free, size = (int(db.execute(f"PRAGMA {name}").fetchone()[0]) for name in _PAGES)
    return (pages - free) * size


_PAGES = ("page_count", "freelist_count", "page_size")


def _oldest(db: sqlite3.Connection, sql: str, phase: str, wanted: float) -> list[int]:
    """Return the first episodes whose sizes add up to at least `wanted` bytes."""
    chosen: list[int] = []
    for episode, size in db.execute(sql, {"phase": phase}):
        if wanted <= 0:
            break
        chosen.append(episode)
        wanted -= size
    return chosen
