"""The execution of a run: phase times, staleness, failures, and the run's components."""

from __future__ import annotations

import json
from collections.abc import Sequence

from starlette.requests import Request
from starlette.responses import Response

from cairn.core.store import RunStore
from cairn.viewer import queries
from cairn.viewer.charts import COLOURS, Chart, CurveLine, Point, line_chart
from cairn.viewer.site import RunSite, Show

_FAILURES, _EVENTS = 50, 100
_CHARTS = (  # title, unit, metrics
    ("Staleness", "updates between the weights that sampled and those that learn", ("staleness/mean", "staleness/max")),
    ("In flight after an update", "episodes", ("in_flight",)),
    ("Speed", "tokens a second of the whole update", ("tokens_per_second",)),
    ("Processor cores in use", "cores of the training process", ("hardware/cores",)),
    ("GPU in use", "share of the time", ("hardware/gpu",)),
    ("Memory", "10^9 bytes, the most so far", ("hardware/memory_gb", "hardware/gpu_memory_gb")),
    ("Mismatch of sampled and trained logprobs", "nats", ("mismatch/mean", "mismatch/max")),
    ("Failed and restarted episodes", "episodes", ("failed", "restarted")),
)


def _show(site: RunSite, request: Request) -> Response:
    with site.run(request) as (place, store):
        meta = store.meta()
        known = {"config", "versions", "reports", "parameters", "trainable"}
        return site.page(
            "system.html",
            run=queries.summary(place, store),
            charts=_charts(store),
            phases=_phases(store),
            endings=queries.endings(store),
            failures=queries.failures(store, _FAILURES),
            checkpoints=queries.checkpoints(store),
            events=queries.events(store, _EVENTS),
            environments=queries.environments(store),
            versions=meta.get("versions") or {},
            config=json.dumps(meta.get("config"), indent=2, ensure_ascii=False),
            facts={name: json.dumps(value, ensure_ascii=False) for name, value in meta.items() if name not in known},
            trainable=meta.get("trainable"),
        )


def _phases(store: RunStore) -> list[tuple[str, float, float]]:
    """Return each phase of updates with its total seconds and its share."""
    sums = store.rows(
        "SELECT substr(name, 9), sum(value) FROM metrics WHERE name >= 'seconds/' AND name < 'seconds0' "
        "GROUP BY name ORDER BY 2 DESC"
    )
    total = sum(seconds for _, seconds in sums) or 1.0
    return [(name, seconds, seconds / total) for name, seconds in sums]


def _charts(store: RunStore) -> list[Chart]:
    phases = [name for name in store.names() if name.startswith("seconds/")]
    charts = [line_chart("Where an update's time goes", "seconds", _lines(store, phases))]
    charts += [line_chart(title, unit, _lines(store, names)) for title, unit, names in _CHARTS]
    return [chart for chart in charts if chart.lines]


def _lines(store: RunStore, names: Sequence[str]) -> list[CurveLine]:
    lines = [
        CurveLine(
            label=name.rpartition("/")[2],
            points=tuple(Point(x=step, y=value) for step, value in store.series(name)),
            colour=i % COLOURS,
        )
        for i, name in enumerate(names)
    ]
    return [line for line in lines if line.points]


ROUTES: tuple[tuple[str, Show], ...] = (("/runs/{run}/system", _show),)
