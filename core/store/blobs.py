"""An episode's large data as bytes.

Texts are compressed together, since turns repeat each other; ids are raw.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from cairn.core.errors import CairnError
from cairn.core.records import Episode, FloatArray, IntArray, Note

_MOST = 256 << 20  # limit of an episode's texts in bytes, as JSON


@dataclass(frozen=True, slots=True, kw_only=True)
class Body:
    """The texts of an episode, and the token ids of all its turns, concatenated."""

    observations: tuple[str, ...]  # one per turn
    replies: tuple[str, ...]
    final: str | None  # text of the last observation; None if the episode failed
    notes: tuple[tuple[Note, ...], ...]  # one tuple per turn
    prompt_ids: IntArray  # [sum over turns]; the turns' rows have the count of each
    reply_ids: IntArray
    reply_logprobs: FloatArray  # as long as `reply_ids`, or empty

    @classmethod
    def of(cls, episode: Episode) -> Body:
        """Return the body of an episode."""
        turns = episode.turns
        return cls(
            observations=tuple(turn.observation.text for turn in turns),
            replies=tuple(turn.reply_text for turn in turns),
            final=None if episode.final is None else episode.final.text,
            notes=tuple(turn.notes for turn in turns),
            prompt_ids=_joined([turn.prompt_ids for turn in turns], np.int32),
            reply_ids=_joined([turn.reply_ids for turn in turns], np.int32),
            reply_logprobs=_joined([turn.reply_logprobs for turn in turns], np.float32),
        )


def pack(body: Body) -> tuple[bytes, bytes, bytes, bytes] | None:
    """Return texts, prompt ids, reply ids and logprobs as bytes.

    None if the texts are too long.

    Lone surrogates are preserved.
    """
    notes = [[(note.kind, note.text) for note in each] for each in body.notes]
    texts = json.dumps([body.observations, body.replies, body.final, notes]).encode()
    if len(texts) > _MOST:
        return None
    ids = body.prompt_ids.tobytes(), body.reply_ids.tobytes()
    return zlib.compress(texts, 1), *ids, body.reply_logprobs.tobytes()


def unpack(texts: bytes, prompt_ids: bytes, reply_ids: bytes, reply_logprobs: bytes) -> Body:
    """Return the body that `pack` converted.

    Raises:
        CairnError: the bytes are not in the format of `pack`.
    """
    try:
        unzip = zlib.decompressobj()
        observations, replies, final, notes = json.loads(unzip.decompress(texts, _MOST))
        if not unzip.eof:
            raise ValueError(f"they are cut short, or longer than {_MOST >> 20} MiB")
        return Body(
            observations=_texts(observations),
            replies=_texts(replies),
            final=None if final is None else _texts([final])[0],
            notes=tuple(tuple(map(_note, each)) for each in notes),
            prompt_ids=np.frombuffer(prompt_ids, np.int32),
            reply_ids=np.frombuffer(reply_ids, np.int32),
            reply_logprobs=np.frombuffer(reply_logprobs, np.float32),
        )
    except (zlib.error, ValueError, TypeError, RecursionError) as error:
        raise CairnError(f"The stored texts of an episode cannot be read: {error}") from error


def _texts(found: Any) -> tuple[str, ...]:  # Any: JSON, which should be a list of texts
    if not isinstance(found, list) or not all(isinstance(each, str) for each in found):
        raise ValueError(f"expected texts, got {found!r:.100}")
    return tuple(found)


def _note(found: Any) -> Note:  # Any: JSON
    kind, text = _texts(found)
    if kind != "summary":
        raise ValueError(f"expected a summary, got {kind!r:.40}")
    return Note(kind="summary", text=text)


def _joined(parts: Sequence[np.ndarray[Any, Any] | None], kind: type) -> Any:  # Any: an array of that type
    found = [part for part in parts if part is not None]
    return np.concatenate(found, dtype=kind) if found else np.empty(0, kind)
