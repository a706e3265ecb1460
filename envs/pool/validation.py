"""Validates an environment's return values; invalid values are failures of kind "garbage"."""

from __future__ import annotations

import base64
import math
from typing import Any

import numpy as np

from cairn.envs.pool.host import checked_text, garbage

_INFO_TYPES: dict[str, type] = {"task_id": str, "anchor": int, "success": bool}


Range = tuple[float, float]  # of scores, declared by the environment
_ROUNDING = 1e-9  # tolerance for sums of floats


def checked_reset(answer: Any, scores: Range) -> tuple[str, dict[str, Any]]:  # Any: unchecked value
    """Return a validated ``(text, info)``, else raise a `Failure`."""
    if not isinstance(answer, (tuple, list)) or len(answer) != 2:
        raise garbage("reset must return (text, info)", answer)
    text, info = answer
    return checked_text(text), _checked_info(info, scores)


def checked_step(answer: Any, scores: Range) -> tuple[str, float, bool, bool, dict[str, Any]]:  # Any: unchecked value
    """Return a validated step result, else raise a `Failure`.

    The result is ``(text, reward, terminated, truncated, info)``.
    """
    if not isinstance(answer, (tuple, list)) or len(answer) != 5:
        raise garbage("step must return (text, reward, terminated, truncated, info)", answer)
    text, reward, terminated, truncated, info = answer
    reward, terminated, truncated = map(_plain, (reward, terminated, truncated))
    if not _is_number(reward):
        raise garbage("a reward must be a finite number", reward)
    if not isinstance(terminated, bool) or not isinstance(truncated, bool):
        raise garbage("terminated and truncated must be true or false", (terminated, truncated))
    return checked_text(text), float(reward), terminated, truncated, _checked_info(info, scores)


def _checked_info(info: Any, scores: Range) -> dict[str, Any]:
    if not isinstance(info, dict):
        raise garbage("info must be a mapping", info)
    info = {key: _plain(value) for key, value in info.items()}
    for key, kind in _INFO_TYPES.items():
        if not isinstance(info.get(key), kind):
            raise garbage(f"info[{key!r}] must be {kind.__name__}", info.get(key))
    if not -(1 << 63) <= info["anchor"] < 1 << 63:
        raise garbage("info['anchor'] must be a signed integer of 64 bits", info["anchor"])
    if not _is_number(info.get("score")):
        raise garbage("info['score'] must be a finite number", info.get("score"))
    if not scores[0] - _ROUNDING <= info["score"] <= scores[1] + _ROUNDING:
        raise garbage(f"info['score'] must lie in the declared reward_range {scores}", info["score"])
    actions = info.get("admissible_actions")
    if actions is not None and not (isinstance(actions, (tuple, list)) and all(isinstance(a, str) for a in actions)):
        raise garbage("info['admissible_actions'] must be texts, or None", actions)
    channels, tools = info.get("channels", {}), info.get("tools", ())
    if isinstance(channels, dict):
        channels = {key: _plain(value) for key, value in channels.items()}
    if not isinstance(channels, dict) or not all(isinstance(k, str) and _is_number(x) for k, x in channels.items()):
        raise garbage("info['channels'] must map names to finite numbers", channels)
    if not isinstance(tools, (tuple, list)) or not all(isinstance(tool, dict) for tool in tools):
        raise garbage("info['tools'] must be JSON schemas", tools)
    results = info.get("results", ())
    if not isinstance(results, (tuple, list)) or not all(isinstance(text, str) for text in results):
        raise garbage("info['results'] must be texts", results)
    if "acted" in info:
        info = {**info, "acted": _checked_box(info["acted"])}
    if "image" in info:
        info = {**info, "image": _checked_image(info["image"])}
    admissible = None if actions is None else tuple(actions)
    return {
        **info,
        "admissible_actions": admissible,
        "channels": channels,
        "tools": tuple(tools),
        "results": tuple(results),
    }


def _checked_box(box: Any) -> tuple[int, ...] | None:  # Any: unchecked value
    if box is None:
        return None
    if not isinstance(box, (tuple, list)) or len(box) != 4 or not all(type(each) is int for each in box):
        raise garbage("info['acted'] must be four whole numbers, or None", box)
    return tuple(box)


def _checked_image(image: Any) -> bytes | None:  # Any: unchecked value
    """Return the picture; a worker process sends it as base64."""
    if image is None or isinstance(image, bytes):
        return image
    try:
        return base64.b64decode(image, validate=True)
    except (TypeError, ValueError):
        raise garbage("info['image'] must be bytes, or None", image) from None


def _plain(value: Any) -> Any:  # Any: unchecked value
    """Return a NumPy scalar as a Python scalar, and anything else unchanged."""
    return value.item() if isinstance(value, np.generic) else value


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value)
