"""The trajectory graph of a group under a credit method, compared with another."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from starlette.requests import Request
from starlette.responses import Response

from cairn.core.errors import CairnError
from cairn.core.table import Floats
from cairn.trainer.stored_credit import StoredStep
from cairn.viewer import queries
from cairn.viewer.credited import TRAINED, StoredUpdate, methods, stored_update
from cairn.viewer.graph_view import MOST_NODES, DrawnEdge, DrawnNode, GraphPicture
from cairn.viewer.group_graph import Labelled, group_graph
from cairn.viewer.site import RunSite, Show, whole

_MOST_CHANGED = 15
_MOST_LISTED = 60


@dataclass(frozen=True, slots=True, kw_only=True)
class DifferingStep:
    """A step with different advantages under two methods."""

    step: StoredStep
    first: float
    second: float


def _show(site: RunSite, request: Request) -> Response:
    phase, step, group = request.path_params["phase"], whole(request, "step", 0), whole(request, "group", 0)
    with site.run(request) as (place, store):
        update = stored_update(store, step, group, phase)
        first, second, errors = _methods(update, request)
        found = group_graph(store, update, (phase, step, group), first, second)
        drawn, words, steps = found.drawn, found.words, found.steps
        chosen = whole(request, "node", len(drawn.nodes))
        return site.page(
            "graph.html", run=queries.summary(place, store), phase=phase, step=step, group=group, drawn=drawn,
            words=words, first=first, second=second, methods=methods(), errors=errors, is_partial=update.is_partial,
            changes=_changes(steps, found.own, found.other), steps=steps, own=found.own.tolist(),
            chosen=_chosen(drawn, words, chosen), most_nodes=MOST_NODES, has_labels=found.has_labels,
            order=sorted(range(len(drawn.nodes)), key=lambda i: (-drawn.nodes[i].visits, i))[:_MOST_LISTED],
            task=steps[0].task, trained=TRAINED, own_method=update.own_method,
        )  # fmt: skip


def _methods(update: StoredUpdate, request: Request) -> tuple[str, str, str]:
    """Return the shown and the compared method, and the errors of unavailable ones."""
    usual = TRAINED if update.trained is not None else update.own_method or "grpo"
    asked = [request.query_params.get(name) or usual for name in ("method", "against")]
    errors = []
    for i, name in enumerate(asked):
        try:
            update.credit(name)
        except CairnError as error:
            errors.append(str(error))
            asked[i] = usual if usual != name else "grpo"
    return asked[0], asked[1], " ".join(errors)


def _changes(steps: Sequence[StoredStep], first: Floats, second: Floats) -> list[DifferingStep]:
    """Return the steps whose advantages differ most, in standard deviations of each method."""
    x, y = (values / (float(values.std()) or 1.0) for values in (first, second))
    order = np.lexsort((np.arange(len(x)), -np.abs(x - y)))[:_MOST_CHANGED].tolist()
    return [
        DifferingStep(step=steps[i], first=float(first[i]), second=float(second[i]))
        for i in order
        if abs(x[i] - y[i]) > 1e-9
    ]


def _chosen(drawn: GraphPicture, words: Labelled, index: int) -> Mapping[str, object] | None:
    """Return the data of the selected state, or None if none is selected."""
    if index >= len(drawn.nodes):
        return None
    node: DrawnNode = drawn.nodes[index]
    edges: list[tuple[DrawnEdge, str]] = [
        (edge, action) for edge, action in zip(drawn.edges, words.actions, strict=True) if edge.tail == index
    ]
    edges.sort(key=lambda pair: -pair[0].first)
    return {"node": node, "text": words.states[index], "edges": edges, "index": index}


ROUTES: tuple[tuple[str, Show], ...] = (("/runs/{run}/groups/{phase}/{step}/{group}/graph", _show),)
