"""Lossless conversion of episodes and turns to and from JSON, for pending episodes.

Floats keep every bit (float32 numbers are exact as JSON's doubles); images are base64; lone surrogates are preserved.
"""

from __future__ import annotations

import base64
from collections.abc import Mapping
from dataclasses import asdict, fields
from typing import Any

import numpy as np

from cairn.core.records import Constraint, Ending, Episode, Note, Observation, Task, Tokens, Turn

Json = dict[str, Any]  # Any: JSON


def turn_to_json(turn: Turn) -> Json:
    """Return a turn as JSON."""
    return {
        **_plain(turn, "reply_text", "action", "reward", "is_valid", "extends_previous", "policy_version", "seconds"),
        "acted": None if turn.acted is None else list(turn.acted),
        "tokens": None if turn.tokens is None else asdict(turn.tokens),
        "notes": [_plain(note, "kind", "text") for note in turn.notes],
        "observation": observation_to_json(turn.observation),
        "channels": dict(turn.channels),
        "constraint": constraint_to_json(turn.constraint),
        **{name: array_to_json(getattr(turn, name)) for name in ("prompt_ids", "reply_ids", "reply_logprobs")},
    }


def turn_from_json(data: Mapping[str, Any]) -> Turn:
    """Return the turn that `turn_to_json` converted."""
    acted, tokens = data.get("acted"), data.get("tokens")  # older checkpoints have neither
    return Turn(
        **{
            **data,
            "observation": observation_from_json(data["observation"]),
            "acted": None if acted is None else tuple(acted),
            "tokens": None if tokens is None else Tokens(**tokens),
            "notes": tuple(Note(**note) for note in data.get("notes", ())),  # missing in older checkpoints
            "constraint": constraint_from_json(data["constraint"]),
            "prompt_ids": array_from_json(data["prompt_ids"], np.int32),
            "reply_ids": array_from_json(data["reply_ids"], np.int32),
            "reply_logprobs": array_from_json(data["reply_logprobs"], np.float32),
        }
    )


def episode_to_json(episode: Episode) -> Json:
    """Return an episode as JSON."""
    return {
        **_plain(episode, "group_id", "score", "success", "origin", "parent", "fork_turn"),
        "task": _plain(episode.task, *(field.name for field in fields(Task))),
        "turns": [turn_to_json(turn) for turn in episode.turns],
        "ending": _plain(episode.ending, *(field.name for field in fields(Ending))),
        "final": None if episode.final is None else observation_to_json(episode.final),
    }


def episode_from_json(data: Mapping[str, Any]) -> Episode:
    """Return the episode that `episode_to_json` converted."""
    return Episode(
        **{
            **data,
            "task": Task(**{field.name: data["task"][field.name] for field in fields(Task)}),
            "turns": tuple(turn_from_json(turn) for turn in data["turns"]),
            "ending": Ending(**data["ending"]),
            "final": None if data["final"] is None else observation_from_json(data["final"]),
        }
    )


def observation_to_json(observation: Observation) -> Json:
    """Return an observation as JSON."""
    admissible, image = observation.admissible, observation.image
    return {
        **_plain(observation, "text", "anchor", "max_calls", "takes_text"),
        "admissible": None if admissible is None else list(admissible),
        "image": None if image is None else base64.b64encode(image).decode(),
        "tools": [dict(tool) for tool in observation.tools],
        "results": list(observation.results),
    }


def observation_from_json(data: Mapping[str, Any]) -> Observation:
    """Return the observation that `observation_to_json` converted."""
    admissible, image = data["admissible"], data["image"]
    return Observation(
        text=data["text"],
        anchor=data["anchor"],
        admissible=None if admissible is None else tuple(admissible),
        image=None if image is None else base64.b64decode(image),
        tools=tuple(data["tools"]),
        max_calls=data.get("max_calls", 1),  # older checkpoints lack these three
        takes_text=data.get("takes_text", False),
        results=tuple(data.get("results", ())),
    )


def constraint_to_json(constraint: Constraint | None) -> Json | None:
    """Return a constraint as JSON."""
    return None if constraint is None else {name: array_to_json(getattr(constraint, name)) for name in _CONSTRAINT}


def constraint_from_json(data: Mapping[str, Any] | None) -> Constraint | None:
    """Return the constraint that `constraint_to_json` converted."""
    return None if data is None else Constraint(**{name: array_from_json(data[name], np.int32) for name in _CONSTRAINT})


def array_to_json(array: np.ndarray[Any, Any] | None) -> list[Any] | None:  # Any: of any shape and type
    """Return an array as a list; None stays None."""
    return None if array is None else array.tolist()


def array_from_json(data: list[Any] | None, kind: type) -> Any:  # Any: an array of that type, or None
    """Return the array that `array_to_json` converted."""
    return None if data is None else np.array(data, kind)


_CONSTRAINT = ("ids", "offsets")


def _plain(record: object, *names: str) -> Json:
    return {name: getattr(record, name) for name in names}
