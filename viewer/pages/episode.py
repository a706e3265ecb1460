"""One episode, turn by turn, with files of fixed types for long texts and pictures.

Prompts and tokens are decoded with the tokenizer of the run's newest checkpoint.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response

from cairn.core.records import Box, Episode, Turn
from cairn.core.store import RunStore, read
from cairn.core.store.read import EpisodeRow, TurnRow
from cairn.envs.gui.picture import frame_of
from cairn.viewer import queries
from cairn.viewer.graph_view import tone
from cairn.viewer.site import RunSite, Show, whole
from cairn.viewer.token_texts import TokenTexts, token_texts

PER_PAGE = 40  # turns
MOST_TOKENS = 512  # per reply
_SURE = (-0.05, -0.25, -0.7, -1.6, -3.0)  # nats; a token's colour is the number of these thresholds above its logprob


@dataclass(frozen=True, slots=True, kw_only=True)
class Token:
    """A sampled token."""

    text: str
    logprob: float | None
    surprise: int  # 0: probable, to 5: improbable


@dataclass(frozen=True, slots=True, kw_only=True)
class Picture:
    """The size of a turn's picture and the box that the action acted on, in pixels."""

    width: int
    height: int
    mark: Box | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ShownTurn:
    """A turn as shown on a page."""

    number: int
    row: TurnRow
    observation: str
    reply: str
    prompt: str | None  # None: no ids, or no tokenizer
    tokens: tuple[Token, ...]  # empty: likewise
    tokens_left: int
    advantage: float | None
    tone: int
    visits: int  # turns of the run with the same anchor
    picture: Picture | None


def _show(site: RunSite, request: Request) -> Response:
    start, colour = whole(request, "from", 0), request.query_params.get("colour", "logprob")
    with site.run(request) as (place, store):
        row = _row(store, whole(request, "episode", 0))
        if start and start >= row.turns:
            raise HTTPException(404, f"This episode has {row.turns} turns")
        texts = token_texts(place, store)
        (played,) = read.whole_episodes(store, [row], has_images=False)
        shown, method = _turns(store, row, played, start, texts)
        around = store.rows(
            "SELECT max(CASE WHEN id < ? THEN id END), min(CASE WHEN id > ? THEN id END) FROM episodes "
            "WHERE phase = ? AND step = ? AND group_id = ?",
            (row.id, row.id, row.phase, row.step, row.group_id),
        )[0]
        return site.page(
            "episode.html", run=queries.summary(place, store), row=row, turns=shown, start=start, per_page=PER_PAGE,
            method=method, colour="advantage" if colour == "advantage" else "logprob", before=around[0],
            after=around[1], final=played.final, has_texts=store.body(row.id) is not None,
            has_final_image=row.turns in queries.picture_sizes(store, row.id), has_tokenizer=texts is not None,
        )  # fmt: skip


def _row(store: RunStore, number: int) -> EpisodeRow:
    found = read.episodes(store, ids=[number])
    if not found:
        raise HTTPException(404, "There is no such episode in this run")
    return found[0]


def _turns(
    store: RunStore, row: EpisodeRow, episode: Episode, start: int, texts: TokenTexts | None
) -> tuple[list[ShownTurn], str]:
    """Return the turns of a page, and the method of their advantages; "": none are stored."""
    rows = read.turns(store, [row.id])[row.id]
    stored = {name: values for name, values in read.advantages(store, row.id).items() if len(values) == len(rows)}
    method, values = next(iter(stored.items()), ("", None))
    scale = max((abs(float(v)) for v in values), default=0.0) if values is not None else 0.0
    chosen = range(start, min(start + PER_PAGE, len(rows)))
    visits = queries.visit_counts(store, [rows[t].anchor for t in chosen])
    sizes = queries.picture_sizes(store, row.id)
    shown = []
    for t in chosen:
        turn, value = episode.turns[t], None if values is None else float(values[t])
        ids = [] if turn.reply_ids is None else turn.reply_ids.tolist()
        shown.append(
            ShownTurn(
                number=t,
                row=rows[t],
                observation=turn.observation.text,
                reply=turn.reply_text,
                prompt=_prompt(turn, texts),
                tokens=() if texts is None else _tokens(turn, ids[:MOST_TOKENS], texts),
                tokens_left=max(len(ids) - MOST_TOKENS, 0),
                advantage=value,
                tone=0 if value is None else tone(value, scale),
                visits=visits.get(rows[t].anchor, 0),
                picture=_picture(sizes[t], rows[t].acted) if t in sizes else None,
            )
        )
    return shown, method


def _picture(size: tuple[int, int], acted: Box | None) -> Picture:
    width, height = size
    return Picture(width=width, height=height, mark=None if acted is None else frame_of(acted, width, height))


def _prompt(turn: Turn, texts: TokenTexts | None) -> str | None:
    return None if texts is None or turn.prompt_ids is None else texts.text(turn.prompt_ids.tolist())


def _tokens(turn: Turn, ids: Sequence[int], texts: TokenTexts) -> tuple[Token, ...]:
    known = turn.reply_logprobs
    logprobs = [None] * len(ids) if known is None else [float(v) for v in known[: len(ids)]]
    return tuple(
        Token(text=text, logprob=logprob, surprise=_surprise(logprob))
        for text, logprob in zip(texts.pieces(ids), logprobs, strict=True)
    )


def _surprise(logprob: float | None) -> int:
    return 0 if logprob is None or math.isnan(logprob) else sum(logprob < limit for limit in _SURE)


# -- files -------------------------------------------------------------------------------------------------------------


def _text(site: RunSite, request: Request) -> Response:
    """Return a whole text, as a file that browsers save instead of showing it."""
    what, turn = request.path_params["what"], whole(request, "turn", 0)
    with site.run(request) as (place, store):
        row = _row(store, whole(request, "episode", 0))
        (played,) = read.whole_episodes(store, [row], has_images=False)
        text = _whole_text(played, token_texts(place, store), turn, what)
    if text is None:
        raise HTTPException(404, "There is no such text: expected observation, reply, action or prompt of a turn")
    name = f"episode-{row.id}-turn-{turn}-{what}.txt"  # `what` is one of four words here
    body = text.encode(errors="replace")
    return PlainTextResponse(body, headers={"Content-Disposition": f'attachment; filename="{name}"'})


def _whole_text(episode: Episode, texts: TokenTexts | None, number: int, what: str) -> str | None:
    if number == len(episode.turns) and what == "observation":
        return None if episode.final is None else episode.final.text
    if number >= len(episode.turns):
        return None
    turn = episode.turns[number]
    plain = {"observation": turn.observation.text, "reply": turn.reply_text, "action": turn.action}
    return _prompt(turn, texts) if what == "prompt" else plain.get(what)


def _image(site: RunSite, request: Request) -> Response:
    with site.run(request) as (_, store):
        png = read.image(store, whole(request, "episode", 0), whole(request, "turn", 0))
    if png is None or not png.startswith(queries.PNG):
        raise HTTPException(404, "There is no PNG picture of this turn")
    return Response(png, media_type="image/png", headers={"Cache-Control": "private, max-age=3600"})


ROUTES: tuple[tuple[str, Show], ...] = (
    ("/runs/{run}/episodes/{episode}", _show),
    ("/runs/{run}/episodes/{episode}/turns/{turn}/picture.png", _image),
    ("/runs/{run}/episodes/{episode}/turns/{turn}/{what}.txt", _text),
)
