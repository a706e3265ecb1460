"""Tools as model servers take them: functions with JSON schemas. Which there are is an environment's to say."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from copy import deepcopy
from typing import Any

Schema = Mapping[str, Any]  # Any: JSON


def function_schema(name: str, description: str, properties: Schema, required: Sequence[str]) -> Schema:
    """Return a function that takes these arguments and no others, in the form of OpenAI's interface."""
    parameters = {
        "type": "object",
        "properties": deepcopy(dict(properties)),
        "required": list(required),
        "additionalProperties": False,
    }
    return {"type": "function", "function": {"name": name, "description": description, "parameters": parameters}}
