"""Evaluations as shown on pages, finished or not: results so far on each part of the panel.

They are computed again only when new data is stored.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from cairn.agents.evaluation.evaluate import training_tasks
from cairn.agents.evaluation.metrics import Measures, measure
from cairn.agents.evaluation.panel import PanelSection
from cairn.agents.evaluation.runner import latest
from cairn.agents.evaluation.sanity_checks import Judged, Mark, RewardHackingSigns, mark_of, signs_of, tampering
from cairn.agents.evaluation.stored import StoredEvaluation, stored_evaluation
from cairn.core.config import flatten
from cairn.core.errors import CairnError
from cairn.core.records import TAMPERING
from cairn.core.store import RunStore, read
from cairn.core.store.read import EpisodeRow
from cairn.viewer import queries
from cairn.viewer.catalog import RunPlace
from cairn.viewer.charts import COLOURS, Chart, CurveLine, Point, line_chart

_BUDGETS = (  # name, title, counted quantity
    ("turns", "Success by number of turns", "turns"),
    ("tokens", "Success by number of tokens", "tokens, read and said"),
    ("cost", "Success within a cost", "cost of an episode"),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class PartFound:
    """The results on one part of a panel."""

    number: int
    family: str
    env: str
    wanted: int  # episodes
    measures: Measures
    signs: RewardHackingSigns  # signs of reward hacking
    gates: Mark
    training_tasks: int  # tasks of the part that the agent was trained on


@dataclass(frozen=True, slots=True, kw_only=True)
class Evaluated:
    """An evaluation with its results so far."""

    place: RunPlace
    agent: str
    settings: tuple[str, ...]  # KEY=VALUE: settings of the agent that differ from its own
    panel: str
    panel_hash: str
    parts: tuple[PartFound, ...]
    seconds: float | None  # time of play; None: not stored yet
    last: float | None  # time of the last write, in seconds since 1970

    @property
    def wanted(self) -> int:
        """Planned episodes of all parts."""
        return sum(part.wanted for part in self.parts)

    @property
    def episodes(self) -> int:
        """Number of played episodes, including failed ones."""
        return sum(part.measures.episodes + part.measures.excluded for part in self.parts)

    @property
    def is_live(self) -> bool:
        """Whether more episodes are expected."""
        return self.episodes < self.wanted and queries.writes(self.place.folder, self.last)


def evaluated(place: RunPlace, store: RunStore) -> Evaluated | None:
    """Return the evaluation in a store, or None if the store has a training run."""
    if "panel" not in store.meta():
        return None
    try:
        return _worked_out(place, queries.state(store))
    except CairnError:  # not written by `cairn eval`: shown as a run
        return None


def forget() -> None:
    """Clear the cache of computed evaluations."""
    _worked_out.cache_clear()


def charts_of(found: Evaluated) -> list[Chart]:
    """Return charts of the share of episodes that succeed within each kind of budget."""
    charts = []
    for name, title, counted in _BUDGETS:
        lines = [
            CurveLine(
                label=part.family,
                points=tuple(Point(x=x, y=100 * share) for x, share in part.measures.budgets[name]),
                colour=part.number % COLOURS,
            )
            for part in found.parts
            if part.measures.budgets.get(name)
        ]
        if lines:
            charts.append(line_chart(title, "% of episodes", lines, x_label=counted, top=100))
    return charts


@lru_cache(maxsize=256)
def _worked_out(place: RunPlace, _state: str) -> Evaluated:
    """Return the evaluation of a store; `_state` changes when new data is stored."""
    with place.open() as store:
        kept = stored_evaluation(store)
        return Evaluated(
            place=place,
            agent=kept.agent,
            settings=tuple(f"{key}={value}" for key, value in flatten(kept.facts.agent_settings).items()),
            panel=kept.panel.name,
            panel_hash=kept.panel.content_hash(),
            parts=tuple(_part(store, kept, number, part) for number, part in enumerate(kept.panel.parts)),
            seconds=kept.seconds,
            last=store.rows("SELECT max(stored) FROM updates")[0][0],
        )


def _part(store: RunStore, kept: StoredEvaluation, number: int, part: PanelSection) -> PartFound:
    rows = latest(store, number)
    return PartFound(
        number=number,
        family=part.family,
        env=part.env,
        wanted=len(part.tasks) * part.attempts,
        measures=measure(rows, kept.tasks[number]),
        signs=signs_of(_judged(store, rows), kept.ranges[number]),
        gates=mark_of(kept.gates, number),
        training_tasks=training_tasks(kept.facts.model_dump(), number),
    )


def _judged(store: RunStore, rows: Sequence[EpisodeRow]) -> list[Judged]:
    """Return the episodes with the data that signs are computed from; other turns are not read."""
    sql = "SELECT DISTINCT episode FROM turns WHERE episode IN (SELECT value FROM json_each(?)) AND channels LIKE ?"
    listed = json.dumps([row.id for row in rows])
    odd = read.turns(store, [episode for (episode,) in store.rows(sql, (listed, f'%"{TAMPERING}%'))])
    return [
        Judged(
            score=row.score,
            success=row.success,
            cause=str(row.cause) if row.ending == "failed" else None,
            tampering=tampering(turn.channels for turn in odd.get(row.id, ())),
        )
        for row in rows
    ]
