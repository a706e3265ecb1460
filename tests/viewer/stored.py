"""Runs for tests of the viewer: two ways through a house, or other texts from a test."""

from __future__ import annotations

import struct
import zlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from cairn.core.records import Ending, Episode, Observation, Task, Turn
from cairn.core.store import RunStore

CONFIG = {"name": "house", "seed": 0, "env": {"id": "house"}, "trainer": {"updates": 2}, "credit": {"method": "grpo"}}
HALL, KITCHEN, CELLAR, GARDEN = 11, 22, 33, 44
METRICS = {"success": 0.5, "return": 0.5, "turns": 2.0, "anchor_coverage": 0.75, "zero_advantage": 0.0}
EVAL = {"eval/success": 0.5, "eval/low": 0.25, "eval/high": 0.75}


def png(width: int = 2, height: int = 2) -> bytes:
    """Return a small picture."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    rows = b"".join(b"\x00" + b"\x40\x80\xc0" * width for _ in range(height))
    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b"")


def turn(text: str, anchor: int, action: str, reward: float = 0.0, **more: Any) -> Turn:  # Any: fields of Turn
    image = more.pop("image", None)
    observation = Observation(text=text, anchor=anchor, image=image)
    ids = {"reply_ids": np.array([1, 2], np.int32), "reply_logprobs": np.array([-0.01, -2.0], np.float32)}
    return Turn(observation=observation, reply_text=action, action=action, reward=reward, **{**ids, **more})


def episode(turns: Sequence[Turn], *, success: bool, group: int = 0, task: str = "find the apple") -> Episode:
    return Episode(
        task=Task(env_id="house", task_id=task, split="train"),
        group_id=group,
        turns=tuple(turns),
        ending=Ending.terminated(),
        score=float(success),
        success=success,
        final=Observation(text="It is over.", anchor=GARDEN if success else CELLAR),
    )


def two_ways() -> list[Episode]:
    """Return an episode by the kitchen, which succeeds, and one by the cellar, which does not."""
    first = [turn("A hall.", HALL, "go kitchen"), turn("A kitchen.", KITCHEN, "open door", 1.0)]
    second = [turn("A hall.", HALL, "go cellar"), turn("A cellar.", CELLAR, "wait", 0.0)]
    return [episode(first, success=True), episode(second, success=False)]


def make_run(
    folder: Path,
    episodes: Sequence[Episode] | None = None,
    *,
    config: Mapping[str, Any] | None = None,
    metrics: Mapping[str, float] | None = None,
    updates: int = 1,
) -> Path:
    """Write a run whose episodes have the advantages 1 where they succeed and -1 where they do not."""
    folder.mkdir(parents=True)
    episodes = two_ways() if episodes is None else episodes
    values = [1.0 if e.success else -1.0 for e in episodes if not e.is_failed for _ in e.turns]
    fine, failed = [e for e in episodes if not e.is_failed], [e for e in episodes if e.is_failed]
    with RunStore(folder / "run.sqlite") as store:
        store.set_meta({"config": CONFIG if config is None else config, "parameters": 1000})
        for update in range(1, updates + 1):
            measured = {**METRICS, **EVAL} if metrics is None else metrics
            store.add(update, measured, fine, task_types=["find"] * len(fine), advantages={"grpo": values})
            store.add(update, {}, failed)
    return folder
