"""What an evaluation's result depends on, as hashes: of an agent, and of a panel with the code of its environments.

Of an agent: weights, settings and prompts, or the file that defines it; not how fast it plays, nor what that costs. A
model behind a server is known by name and address alone: that its weights changed cannot be seen from here. Of code:
Cairn's version, and the files that define environments and agents outside Cairn; not what those import.
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
from cairn.core.config import build
from cairn.core.plugins import BACKENDS
from cairn.envs.base import TextEnv
from cairn.envs.registry import load

VERSION = metadata.version("cairn-rl")
_SPEED = {"slots", "cache_tokens"}  # settings of sampling that change no reply
_WEIGHTS = ("*.safetensors", "*.bin", "*.json", "*.txt", "*.model", "*.jinja", "*.sqlite", "*.sqlite-wal")
_NOT_READ = ("manifest.json", "optimizer.safetensors", "rollout.json")  # by who plays


def fingerprint(agent: Agent, temperature: float) -> str:
    """Return the SHA-256 of what an agent is, as 64 hex digits; a person is another one each time."""
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
    """Return the SHA-256 of what is played and by which code, as 64 hex digits."""
    code = _code(part.env for part in panel.parts)
    return sha256(json.dumps([panel.content_hash(), VERSION, code], sort_keys=True).encode()).hexdigest()


def _sampling(sampling: SamplingConfig) -> dict[str, Any]:  # Any: JSON
    """Return what replies follow from, of the chosen back end alone."""
    general = {name: getattr(sampling, name) for name in SamplingConfig.model_fields if name not in _SPEED}
    settings = build(BACKENDS.load(sampling.method)[1], sampling.settings, f"sampling.{sampling.method}")
    its = settings.identity() if isinstance(settings, BackendConfig) else settings.model_dump(mode="json")
    return {**general, sampling.method: its}


def _code(env_ids: Iterable[str]) -> dict[str, str]:
    """Return a hash of each module's file, by name, that defines an environment outside Cairn or a base of one."""
    kinds = {kind for env_id in env_ids for kind in load(env_id).__mro__ if issubclass(kind, TextEnv)}
    modules = {kind.__module__ for kind in kinds if not kind.__module__.startswith("cairn.")}
    files = {name: inspect.getsourcefile(sys.modules[name]) for name in sorted(modules) if name != "__main__"}
    return {name: _hash(Path(file)) for name, file in files.items() if file is not None}


def _hashes(folder: Path) -> dict[str, str]:
    """Return a hash of each of a folder's files that say what a model is."""
    found = sorted({file for pattern in _WEIGHTS for file in folder.glob(pattern) if file.name not in _NOT_READ})
    return {file.name: _hash(file) for file in found}


def _hash(file: Path) -> str:
    with file.open("rb") as opened:
        return file_digest(opened, "sha256").hexdigest()
