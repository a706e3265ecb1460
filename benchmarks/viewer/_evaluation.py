"""An evaluation of many turns: copies of played episodes under other task names."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, replace
from pathlib import Path

from cairn.agents.evaluation.metrics import TaskFacts
from cairn.agents.evaluation.panel import Panel, PanelSection
from cairn.core.records import Episode
from cairn.core.store import RunStore

_AT_ONCE = 64  # episodes per transaction


def make_evaluation(folder: Path, num_turns: int, played: Sequence[Episode]) -> Path:
    """Write an evaluation of at least `num_turns` turns, and return its folder."""
    folder.mkdir(parents=True)
    repeats = -(-num_turns // sum(len(each.turns) for each in played))
    episodes = [
        replace(each, task=replace(each.task, task_id=f"task/{at}"), group_id=at)
        for at, each in enumerate(episode for _ in range(repeats) for episode in played)
    ]
    names = [each.task.task_id for each in episodes]
    part = PanelSection(family="household", env="household", version=1, tasks=dict.fromkeys(names, ""), may_differ=True)
    panel = Panel(name="large", version=1, summary="", hash="", parts=(part,)).sealed()
    facts = {name: asdict(TaskFacts(type=f"type {at % 6}", difficulty=str(at % 3))) for at, name in enumerate(names)}
    with RunStore(folder / "run.sqlite") as store:
        store.set_meta(
            {
                "agent": "oracle", "panel": panel.model_dump(mode="json"), "tasks": [facts], "ranges": [(0.0, 1.0)],
                "facts": {"agent_settings": {}, "agent_hash": "", "temperature": 0.4, "cairn": "", "key": ""},
                "seconds": 1.0,
            }
        )  # fmt: skip
        for at in range(0, len(episodes), _AT_ONCE):
            chunk = episodes[at : at + _AT_ONCE]
            store.add(0, {}, chunk, phase="eval", task_types=["household"] * len(chunk))
    return folder
