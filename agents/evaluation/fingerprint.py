"""Hashes of everything that an evaluation's result depends on: agent, panel and code.

An agent's hash covers its weights, settings and prompts, or the file that defines it, but not speed or cost settings. A
model behind a server is identified by name and address only: changes of its weights are not detected. The hash of the
code covers Cairn's version and the files that define environments and agents outside Cairn, but not their imports.
"""

from __future__ import annotations

import inspect
import json
import sys
import uuid
from collections.abc import Iterable
from hashlib import file_digest, sha256
from importlib import metadata
from pathlib import Path
from typing import Any

from cairn.agents.agent import Agent
from cairn.agents.config import BackendConfig, SamplingConfig
from cairn.agents.evaluation.panel import Panel
from cairn.agents.scripted import is_scripted
from cairn.core.plugins import BACKENDS
from cairn.envs.base import TextEnv
from cairn.envs.registry import load

VERSION = metadata.version("cairn-rl")
_SPEED = {"slots", "cache_tokens"}  # sampling settings that do not affect replies
_WEIGHTS = ("*.safetensors", "*.bin", "*.json", "*.txt", "*.model", "*.jinja", "*.sqlite", "*.sqlite-wal")
_NOT_READ = ("manifest.json", "optimizer.safetensors", "rollout.json")  # files that playing does not read


def fingerprint(agent: Agent, temperature: float) -> str:
    """Return the SHA-256 of an agent, as 64 hex digits; a human gets a new one each time."""
    sampling = _sampling(agent.sampling)
    how = {"settings": agent.settings, "prompts": dict(agent.prompts)}
    content: dict[str, Any] = {"sampling": {**sampling, "temperature": temperature}, "how": how}  # Any: JSON
    kind, _, argument = agent.name.partition(":")
    if agent.code is not None:
        content |= {"name": agent.name, "code": agent.code.identity()}
    elif kind == "human":
        content["person"] = uuid.uuid4().hex
    elif kind == "replay":
        content["files"] = _hashes(Path(argument).expanduser())
    elif is_scripted(agent.name) or kind == "openai":
        content["name"] = agent.name
    else:
        content |= {"files": _hashes(agent.place)} if agent.place is not None else {"name": agent.name}
    return sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()


def panel_key(panel: Panel) -> str:
    """Return the SHA-256 of a panel and the code that plays it, as 64 hex digits."""
    code = _code(part.env for part in panel.parts)
    return sha256(json.dumps([panel.content_hash(), VERSION, code], sort_keys=True).encode()).hexdigest()


def _sampling(sampling: SamplingConfig) -> dict[str, Any]:  # Any: JSON
    """Return the settings that affect replies, for the chosen back end only."""
    general = {name: getattr(sampling, name) for name in SamplingConfig.model_fields if name not in _SPEED}
    settings = sampling.config(BACKENDS, "sampling")
    its = settings.identity() if isinstance(settings, BackendConfig) else settings.model_dump(mode="json")
    return {**general, sampling.method: its}


def _code(env_ids: Iterable[str]) -> dict[str, str]:
    """Return a hash per module that defines an environment, or a base of one, outside Cairn."""
    kinds = {kind for env_id in env_ids for kind in load(env_id).__mro__ if issubclass(kind, TextEnv)}
    modules = {kind.__module__ for kind in kinds if not kind.__module__.startswith("cairn.")}
    files = {name: inspect.getsourcefile(sys.modules[name]) for name in sorted(modules) if name != "__main__"}
    return {name: _hash(Path(file)) for name, file in files.items() if file is not None}


def _hashes(folder: Path) -> dict[str, str]:
    """Return a hash of each file in a folder that defines a model."""
    found = sorted({file for pattern in _WEIGHTS for file in folder.glob(pattern) if file.name not in _NOT_READ})
    return {file.name: _hash(file) for file in found}


def _hash(file: Path) -> str:
    with file.open("rb") as opened:
        return file_digest(opened, "sha256").hexdigest()
