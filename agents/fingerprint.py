"""What an evaluation's result depends on of an agent, as a hash: weights, settings, prompts; not how fast it plays.

A model behind a server is known by name and address alone: that its weights changed cannot be seen from here.
"""

from __future__ import annotations

import json
import uuid
from hashlib import file_digest, sha256
from pathlib import Path
from typing import Any

from cairn.agents.agent import Agent
from cairn.agents.scripted import is_scripted

_SPEED = ("slots", "cache_tokens")  # settings of sampling that change no reply
_WEIGHTS = ("*.safetensors", "*.bin", "*.json", "*.txt", "*.model", "*.jinja", "*.sqlite", "*.sqlite-wal")
_NOT_READ = ("manifest.json", "optimizer.safetensors", "rollout.json")  # by who plays


def fingerprint(agent: Agent, temperature: float) -> str:
    """Return the SHA-256 of what an agent is, as 64 hex digits; a person is another one each time."""
    sampling = agent.sampling.model_dump(mode="json", exclude=set(_SPEED))
    how = {"settings": agent.settings, "prompts": dict(agent.prompts)}
    content: dict[str, Any] = {"sampling": {**sampling, "temperature": temperature}, "how": how}  # Any: JSON
    kind, _, argument = agent.name.partition(":")
    if kind == "human":
        content["person"] = uuid.uuid4().hex
    elif kind == "replay":
        content["files"] = _hashes(Path(argument).expanduser())
    elif is_scripted(agent.name) or kind == "openai":
        content["name"] = agent.name
    else:
        content |= {"files": _hashes(agent.place)} if agent.place is not None else {"name": agent.name}
    return sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()


def _hashes(folder: Path) -> dict[str, str]:
    """Return a hash of each of a folder's files that say what a model is."""
    found = sorted({file for pattern in _WEIGHTS for file in folder.glob(pattern) if file.name not in _NOT_READ})
    return {file.name: _hash(file) for file in found}


def _hash(file: Path) -> str:
    with file.open("rb") as opened:
        return file_digest(opened, "sha256").hexdigest()
