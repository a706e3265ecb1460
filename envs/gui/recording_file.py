"""Reads and writes recorded episodes as JSON lines; ``.gz`` files are compressed.

The first line names the environment. Nothing in a file is executed; an invalid line raises an error with its number.
Lone surrogates survive. Calls are stored as text.

::

    {"cairn_gui_recording": 1, "env": "gui/apps-mail", "env_version": 1, "settings": {}, "functions": ["click", ...]}
    {"task_id": "mail-count/0", "moves": [{"shown": {"text": "Goal: ...", ...}, "call": "click('417')", ...}], ...}
"""

from __future__ import annotations

import base64
import gzip
import json
import zlib
from collections.abc import Iterator
from pathlib import Path
from shlex import quote
from typing import Any

from cairn.core.errors import CairnError, MissingDataError
from cairn.core.records import Ending, Observation
from cairn.envs.gui._fields import Fields
from cairn.envs.gui.actions import FUNCTIONS, GuiActionError, parse, written
from cairn.envs.gui.recording import Element, Move, RecordedEpisode, Recording, TakenAction

VERSION = 1
_MARK = "cairn_gui_recording"
_MOST_BYTES = 4 << 30  # of all lines, uncompressed, since a compressed file's size does not limit it

Json = dict[str, Any]  # Any: JSON


def write(recording: Recording, file: Path) -> None:
    """Write a new file; equal recordings give equal files.

    Raises:
        CairnError: the file exists already, or it cannot be written.
    """
    lines = [_head_json(recording), *map(_episode_json, recording.episodes)]
    data = "".join(f"{json.dumps(line, separators=(',', ':'))}\n" for line in lines).encode("ascii")
    try:
        with file.open("xb") as out:
            out.write(gzip.compress(data, mtime=0) if file.suffix == ".gz" else data)
    except OSError as error:
        check_free(file)
        raise CairnError(f"Cannot write the recording {str(file)!r}: {error}") from None


def check_free(file: Path) -> None:
    """Check that a new file can be written, before episodes are played.

    Raises:
        CairnError: the file exists already, or its folder is missing.
    """
    if not file.parent.is_dir():
        make = f"mkdir -p {quote(str(file.parent))}"
        raise CairnError(f"Cannot write {str(file)!r}: there is no such folder; make it: {make}")
    if file.exists():
        raise CairnError(f"There is a file {str(file)!r} already; move it away or choose another name")


def read(file: Path) -> Recording:
    """Return a file's recording.

    Raises:
        MissingDataError: the file does not exist.
        CairnError: the file is not a recording of this version; gives the line, the expected value and the actual one.
    """
    lines = _lines(file)
    first = next(lines, None)
    if first is None or _MARK not in first.names:
        raise CairnError(f"{file}: expected a recording, whose first line has {_MARK!r}; make one: cairn envs record")
    if first.whole(_MARK) != VERSION:
        raise first.error(_MARK, f"version {VERSION}; record it again")
    first.only(_MARK, "env", "env_version", "settings", "functions")
    functions = first.texts("functions")
    if not functions or not set(functions) <= set(FUNCTIONS):
        raise first.error("functions", f"some of {', '.join(FUNCTIONS)}")
    env_id, env_version, settings = first.text("env"), first.whole("env_version"), first.table("settings")
    episodes = tuple(_episode(line, functions) for line in lines)
    if not episodes:
        raise CairnError(f"{file}: expected a recording of one episode or more, got none")
    return Recording(
        env_id=env_id, env_version=env_version, settings=settings, functions=functions, episodes=episodes
    )  # fmt: skip


def _lines(file: Path) -> Iterator[Fields]:
    """Yield the object in each line."""
    left = _MOST_BYTES
    count = 0
    try:
        with gzip.open(file) if file.suffix == ".gz" else file.open("rb") as lines:
            while line := lines.readline(left + 1):
                count, left = count + 1, left - len(line)
                if left < 0:
                    raise CairnError(f"{file}: a recording may have {_MOST_BYTES} bytes")
                yield Fields(json.loads(line), f"{file}, line {count}")
    except FileNotFoundError:
        raise MissingDataError(
            f"There is no recording {str(file)!r}; make one: cairn envs record ENV --out FILE"
        ) from None
    except (OSError, EOFError, zlib.error) as error:
        raise CairnError(f"Cannot read the recording {str(file)!r}: {error}") from None
    except (ValueError, RecursionError) as error:
        raise CairnError(f"{file}, line {count}: expected JSON, got {error}") from None


def _head_json(recording: Recording) -> Json:
    return {
        _MARK: VERSION,
        "env": recording.env_id,
        "env_version": recording.env_version,
        "settings": dict(recording.settings),
        "functions": list(recording.functions),
    }


def _episode_json(episode: RecordedEpisode) -> Json:
    return {
        "task_id": episode.task_id,
        "task_type": episode.task_type,
        "seed": episode.seed,
        "goal": episode.goal,
        "moves": [_move_json(move) for move in episode.moves],
        "final": _observation_json(episode.final),
        "ending": episode.ending.kind,
        "cause": episode.ending.cause,
        "score": episode.score,
        "success": episode.success,
    }


def _episode(line: Fields, functions: tuple[str, ...]) -> RecordedEpisode:
    line.only(
        "task_id", "task_type", "seed", "goal", "moves", "final", "ending", "cause", "score", "success"
    )  # fmt: skip
    moves = tuple(_move(each, functions) for each in line.objects("moves"))
    if not moves:
        raise line.error("moves", "one move or more")
    return RecordedEpisode(
        task_id=line.text("task_id"),
        task_type=line.text("task_type"),
        seed=line.whole("seed"),
        goal=line.text("goal"),
        moves=moves,
        final=_observation(line.object("final")),
        ending=_ending(line),
        score=line.number("score"),
        success=line.truth("success"),
    )


def _ending(line: Fields) -> Ending:
    kind, cause = line.value("ending"), line.value("cause")
    if (kind, cause) == ("terminated", None):
        return Ending.terminated()
    if kind == "truncated" and cause in ("turns", "tokens", "time"):
        return Ending.truncated(cause)
    raise line.error("ending", "'terminated', or 'truncated' with a cause: turns, tokens or time")


def _move_json(move: Move) -> Json:
    element = move.taken.element
    about = element and {"bid": element.bid, "role": element.role, "name": element.name, "box": element.box}
    return {
        "shown": _observation_json(move.shown),
        "call": written(move.taken.call),
        "element": about,
        "reward": move.reward,
    }


def _move(move: Fields, functions: tuple[str, ...]) -> Move:
    move.only("shown", "call", "element", "reward")
    call = parse(move.text("call"), functions)
    if isinstance(call, GuiActionError):
        raise move.error("call", f"a call of one of the recording's functions ({call.text})")
    element = None if move.value("element") is None else _element(move.object("element"))
    return Move(
        shown=_observation(move.object("shown")),
        taken=TakenAction(call=call, element=element),
        reward=move.number("reward"),
    )


def _element(element: Fields) -> Element:
    element.only("bid", "role", "name", "box")
    x, y, width, height = element.wholes("box", 4)
    return Element(
        bid=element.text("bid"), role=element.text("role"), name=element.text("name"), box=(x, y, width, height)
    )


def _observation_json(shown: Observation) -> Json:
    return {
        "text": shown.text,
        "anchor": shown.anchor,
        "admissible": shown.admissible and list(shown.admissible),
        "image": shown.image and base64.b64encode(shown.image).decode(),
    }


def _observation(shown: Fields) -> Observation:
    shown.only("text", "anchor", "admissible", "image")
    anchor = shown.whole("anchor")
    if not 0 <= anchor < 1 << 64:
        raise shown.error("anchor", "a number of 64 bits")
    return Observation(
        text=shown.text("text"),
        anchor=anchor,
        admissible=None if shown.value("admissible") is None else shown.texts("admissible"),
        image=None if shown.value("image") is None else shown.data("image"),
    )
