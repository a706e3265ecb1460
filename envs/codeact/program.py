"""Carries out a program's calls as steps of its environment and collects the results.

The program runs in a sandbox and has one connection to this process: it requests an action in JSON, and the environment
here carries it out. Rewards, score and ending come only from the environment in this process, never from the program's
messages or output.
"""

from __future__ import annotations

import json
import keyword
from collections.abc import Mapping, Sequence
from typing import Any

from cairn.core.records import Schema
from cairn.envs.base import TextEnv
from cairn.sandboxes.interpreter import CallRefused


class Steps:
    """The steps of one program in the current episode."""

    def __init__(self, env: TextEnv, info: dict[str, Any], most: int) -> None:  # Any: see `TextEnv.step`
        self._env, self._most = env, most
        self.info = info  # the environment's latest
        self.count = 0
        self.reward = 0.0
        self.parts = dict.fromkeys(env.meta.parts, 0.0)  # of the reward, summed over all steps
        self.terminated = False
        self.truncated = False
        self.text = ""  # the last step's observation

    def call(self, name: str, arguments: Mapping[str, Any]) -> object:  # Any: JSON
        """Carry out a call of the program and return its result.

        Raises:
            CallRefused: the call is refused; the program receives the text.
        """
        if name == "actions":
            return self.info["admissible_actions"]
        if name == "act":
            return self._step(arguments.get("action"))
        if name == "tool":
            given = {"name": arguments.get("name"), "arguments": arguments.get("arguments")}
            return self._step(json.dumps(given, ensure_ascii=False))
        raise CallRefused(f"There is no function {name[:40]!r}")

    def _step(self, action: object) -> str:
        if not isinstance(action, str):
            raise CallRefused(f"An action is text, got {type(action).__name__}")
        if self.terminated or self.truncated:
            raise CallRefused("The episode is over" if self.terminated else "No turn of the environment is left")
        if self.count >= self._most:
            raise CallRefused(f"A program may take {self._most} actions")
        self.text, reward, self.terminated, self.truncated, self.info = self._env.step(action)
        self.reward += float(reward)
        for part in self.parts:
            self.parts[part] += self.info["channels"].get(part, 0.0)
        self.count += 1
        return self.text


def parameters_of(tools: Sequence[Schema]) -> dict[str, list[str]]:
    """Map each tool with a valid function name to its parameters' names, required ones first."""
    found = {}
    for tool in tools:
        function = tool["function"]
        schema = function.get("parameters") or {}
        required = list(schema.get("required", ()))
        names = [*required, *(name for name in schema.get("properties", {}) if name not in required)]
        if function["name"].isidentifier() and not keyword.iskeyword(function["name"]):
            found[function["name"]] = names
    return found


def described(tools: Sequence[Schema]) -> list[str]:
    """Return a line of description for each tool that programs can call as a function."""
    parameters, lines = parameters_of(tools), []
    for tool in tools:
        function = tool["function"]
        if function["name"] in parameters:
            required = (function.get("parameters") or {}).get("required", ())
            names = [name if name in required else f"{name}=..." for name in parameters[function["name"]]]
            lines.append(f"{function['name']}({', '.join(names)}): {function.get('description', '')}".rstrip(": "))
    return lines
