"""Checks what an environment answered before anyone relies on it; what does not fit is garbage, a failure of ours."""

from __future__ import annotations

import base64
import math
from typing import Any

from cairn.envs._world import Failure

_INFO_TYPES: dict[str, type] = {"task_id": str, "anchor": int, "success": bool}


def checked_reset(answer: Any) -> tuple[str, dict[str, Any]]:  # Any: it is what we check
    """Return ``(text, info)``."""
    if not isinstance(answer, (tuple, list)) or len(answer) != 2:
        raise _garbage("reset must return (text, info)", answer)
    text, info = answer
    return checked_text(text), _checked_info(info)


def checked_step(answer: Any) -> tuple[str, float, bool, bool, dict[str, Any]]:  # Any: it is what we check
    """Return ``(text, reward, terminated, truncated, info)``."""
    if not isinstance(answer, (tuple, list)) or len(answer) != 5:
        raise _garbage("step must return (text, reward, terminated, truncated, info)", answer)
    text, reward, terminated, truncated, info = answer
    if not _is_number(reward):
        raise _garbage("a reward must be a finite number", reward)
    if not isinstance(terminated, bool) or not isinstance(truncated, bool):
        raise _garbage("terminated and truncated must be true or false", (terminated, truncated))
    return checked_text(text), float(reward), terminated, truncated, _checked_info(info)


def checked_text(answer: Any) -> str:  # Any: it is what we check
    """Return the text."""
    if not isinstance(answer, str):
        raise _garbage("expected text", answer)
    return answer


def _checked_info(info: Any) -> dict[str, Any]:
    if not isinstance(info, dict):
        raise _garbage("info must be a mapping", info)
    for key, kind in _INFO_TYPES.items():
        if not isinstance(info.get(key), kind):
            raise _garbage(f"info[{key!r}] must be {kind.__name__}", info.get(key))
    if not _is_number(info.get("score")):
        raise _garbage("info['score'] must be a finite number", info.get("score"))
    actions = info.get("admissible_actions")
    if actions is not None and not (isinstance(actions, (tuple, list)) and all(isinstance(a, str) for a in actions)):
        raise _garbage("info['admissible_actions'] must be texts, or None", actions)
    channels, tools = info.get("channels", {}), info.get("tools", ())
    if not isinstance(channels, dict) or not all(isinstance(k, str) and _is_number(x) for k, x in channels.items()):
        raise _garbage("info['channels'] must map names to finite numbers", channels)
    if not isinstance(tools, (tuple, list)) or not all(isinstance(tool, dict) for tool in tools):
        raise _garbage("info['tools'] must be JSON schemas", tools)
    if "acted" in info:
        info = {**info, "acted": _checked_box(info["acted"])}
    if "image" in info:
        info = {**info, "image": _checked_image(info["image"])}
    admissible = None if actions is None else tuple(actions)
    return {**info, "admissible_actions": admissible, "channels": channels, "tools": tuple(tools)}


def _checked_box(box: Any) -> tuple[int, ...] | None:  # Any: it is what we check
    if box is None:
        return None
    if not isinstance(box, (tuple, list)) or len(box) != 4 or not all(type(each) is int for each in box):
        raise _garbage("info['acted'] must be four whole numbers, or None", box)
    return tuple(box)


def _checked_image(image: Any) -> bytes | None:  # Any: it is what we check
    """Return the picture; another process sends it as base64."""
    if image is None or isinstance(image, bytes):
        return image
    try:
        return base64.b64decode(image, validate=True)
    except (TypeError, ValueError):
        raise _garbage("info['image'] must be bytes, or None", image) from None


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value)


def _garbage(expected: str, got: object) -> Failure:
    return Failure("garbage", f"{expected}, got {got!r:.200}")
