"""Groups of one step, and one group: all episodes of a task side by side."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import zip_longest

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from cairn.core.store import RunStore, read
from cairn.core.store.read import EpisodeRow, Floats, TurnRow
from cairn.viewer import queries
from cairn.viewer.graph_view import tone
from cairn.viewer.site import RunSite, Show, page_number, whole

PER_PAGE = 50
_MOST_EPISODES = 64  # side by side
_MOST_TURNS = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnCell:
    """One turn of one episode, in a table of turns by episodes."""

    turn: TurnRow
    advantage: float | None
    tone: int  # of the advantage
    is_shared: bool  # another episode of the group was in this state
    mark: str  # label of the state within this group, such as s3


def _list(site: RunSite, request: Request) -> Response:
    with site.run(request) as (place, store):
        steps = queries.steps(store)
        phases = list(dict.fromkeys(row.phase for row in steps))
        phase = request.query_params.get("phase") or ("train" if "train" in phases else next(iter(phases), "train"))
        of_phase = [row for row in steps if row.phase == phase]
        step = whole(request, "step", of_phase[-1].step if of_phase else 0)
        page = page_number(request, PER_PAGE)
        found = queries.groups(store, phase, step, PER_PAGE + 1, (page - 1) * PER_PAGE)
        return site.page(
            "groups.html", run=queries.summary(place, store), steps=of_phase, phases=phases, phase=phase, step=step,
            groups=found[:PER_PAGE], page=page, more=len(found) > PER_PAGE,
        )  # fmt: skip


def _group(site: RunSite, request: Request) -> Response:
    with site.run(request) as (place, store):
        phase, step, group = request.path_params["phase"], whole(request, "step", 0), whole(request, "group", 0)
        episodes = read.episodes(store, phase=phase, step=step, group=group, limit=_MOST_EPISODES + 1)
        if not episodes:
            raise HTTPException(404, "There is no such group in this run")
        shown = episodes[:_MOST_EPISODES]
        credit = {episode.id: _trained(store, episode) for episode in shown}
        return site.page(
            "group.html", run=queries.summary(place, store), phase=phase, step=step, group=group, episodes=shown,
            first=_first_observation(store, shown[0]), left=len(episodes) > _MOST_EPISODES,
            rows=_side_by_side(read.turns(store, [e.id for e in shown]), credit)[:_MOST_TURNS],
            methods=sorted({name for name, _ in credit.values() if name}), most_turns=_MOST_TURNS,
        )  # fmt: skip


def _trained(store: RunStore, episode: EpisodeRow) -> tuple[str, Floats | None]:
    found = read.advantages(store, episode.id)
    return next(((name, values) for name, values in found.items() if len(values) == episode.turns), ("", None))


def _first_observation(store: RunStore, episode: EpisodeRow) -> str:
    body = store.body(episode.id)
    return body.observations[0] if body is not None and body.observations else ""


def _side_by_side(
    turns: Mapping[int, list[TurnRow]], credit: Mapping[int, tuple[str, Floats | None]]
) -> list[tuple[TurnCell | None, ...]]:
    """Return one row per turn with one cell per episode; None: the episode had ended."""
    where: dict[int, set[int]] = {}
    for episode, listed in turns.items():
        for turn in listed:
            where.setdefault(turn.anchor, set()).add(episode)
    shared = [anchor for anchor, episodes in where.items() if len(episodes) > 1]
    marks = {anchor: f"s{number}" for number, anchor in enumerate(shared, 1)}
    sizes = [abs(float(v)) for _, values in credit.values() if values is not None for v in values]
    scale = max(sizes, default=0.0)

    def cell(episode: int, turn: TurnRow) -> TurnCell:
        values = credit[episode][1]
        value = None if values is None else float(values[turn.turn])
        return TurnCell(
            turn=turn,
            advantage=value,
            tone=0 if value is None else tone(value, scale),
            is_shared=turn.anchor in marks,
            mark=marks.get(turn.anchor, ""),
        )

    columns = [[cell(episode, turn) for turn in listed] for episode, listed in turns.items()]
    return list(zip_longest(*columns))


ROUTES: tuple[tuple[str, Show], ...] = (
    ("/runs/{run}/groups", _list),
    ("/runs/{run}/groups/{phase}/{step}/{group}", _group),
)
