"""Credit diagnostics: comparable steps of a run, and agreement of methods on an update."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from starlette.requests import Request
from starlette.responses import Response

from cairn.core.errors import CairnError
from cairn.core.store import RunStore
from cairn.core.table import Floats
from cairn.trainer.metrics import SIZES, credit_metrics
from cairn.trainer.stored_credit import compare
from cairn.viewer import queries
from cairn.viewer.charts import Chart, CurveLine, Point, histogram, line_chart
from cairn.viewer.credited import MOST_STEPS, TRAINED, USUAL, StoredUpdate, methods, stored_update
from cairn.viewer.site import RunSite, Show, whole

_SHARES = (
    ("anchor_coverage", "steps with a shared anchor"),
    ("zero_advantage", "steps with an advantage of 0"),
    ("zero_spread", "groups of one return"),
    ("sign_agreement", "steps with their episode's sign"),
)
_MOST_METHODS = 9


def _show(site: RunSite, request: Request) -> Response:
    with site.run(request) as (place, store):
        run = queries.summary(place, store)
        steps = [row.step for row in queries.steps(store) if row.phase == "train"]
        step = whole(request, "step", steps[-1] if steps else 0)
        asked = [name for name in request.query_params.getlist("method") if name]
        values: dict[str, Floats] = {}
        errors, update = [], None
        try:
            update = stored_update(store, step)
        except CairnError as error:
            errors = [str(error)] if steps else []
        if update is not None:
            values, errors = _values(update, asked)
        return site.page(
            "credit.html", run=run, steps=steps, step=step, charts=_charts(store), errors=errors, methods=methods(),
            asked=asked, names=list(values), agreement=_agreement(update, values), measured=_measured(update, values),
            histograms=[
                histogram(name, "steps; advantages to the right", v.tolist()) for name, v in list(values.items())[:3]
            ],
            num_steps=0 if update is None else len(update.table), trained=TRAINED,
            is_partial=update is not None and update.is_partial, most_steps=MOST_STEPS,
        )  # fmt: skip


def _values(update: StoredUpdate, asked: Sequence[str]) -> tuple[dict[str, Floats], list[str]]:
    """Return advantages by method, and the errors of the requested ones."""
    own = [TRAINED] if update.trained is not None else []
    names = dict.fromkeys([*own, *asked, *([] if asked else USUAL)])
    values: dict[str, Floats] = {}
    errors = []
    for name in list(names)[:_MOST_METHODS]:
        try:
            values[name] = update.credit(name)
        except CairnError as error:
            if name in asked:
                errors.append(str(error))
    return values, errors


def _agreement(
    update: StoredUpdate | None, values: Mapping[str, Floats]
) -> list[tuple[str, list[tuple[float, float] | None]]]:
    """Return one row per method: correlation and share of equal signs with each earlier method."""
    if update is None:
        return []
    places, names = list(update.places), list(values)
    table = []
    for i, name in enumerate(names):
        cells: list[tuple[float, float] | None] = [
            compare(places, values[name], values[other], 0)[:2] if j < i else None for j, other in enumerate(names)
        ]
        table.append((name, cells))
    return table


def _measured(update: StoredUpdate | None, values: Mapping[str, Floats]) -> list[tuple[str, list[float]]]:
    """Return each credit metric with its value under each method."""
    if update is None or not values:
        return []
    found = [credit_metrics(update.table, value) for value in values.values()]
    return [(name, [each[name] for each in found]) for name in found[0]]


def _charts(store: RunStore) -> list[Chart]:
    shares = [_line(store, name, label, i) for i, (name, label) in enumerate(_SHARES)]
    sizes = [_line(store, f"anchor_size/{n}", _size(n), i) for i, n in enumerate(SIZES)]
    spread = [_line(store, "advantage_std", "standard deviation", 0, 1.0)]
    loops = [_line(store, "loops", "steps back in a state, an episode", 1, 1.0)]
    charts = [
        line_chart("Step-level comparison", "% of steps, or of groups", _there(shares), top=100),
        line_chart("How many steps share an anchor", "% of steps", _there(sizes), top=100),
        line_chart("Spread of advantages", "in the method's own unit", _there(spread)),
        line_chart("Loops", "steps an episode", _there(loops)),
    ]
    return [chart for chart in charts if chart.lines]


def _size(n: int) -> str:
    return f"{n}" if n == 1 else (f"{n} or more" if n == SIZES[-1] else f"{n} to {2 * n - 1}")


def _line(store: RunStore, name: str, label: str, colour: int, scale: float = 100.0) -> CurveLine:
    points = tuple(Point(x=step, y=scale * value) for step, value in store.series(name))
    return CurveLine(label=label, points=points, colour=colour)


def _there(lines: Sequence[CurveLine]) -> list[CurveLine]:
    return [line for line in lines if line.points]


ROUTES: tuple[tuple[str, Show], ...] = (("/runs/{run}/credit", _show),)
