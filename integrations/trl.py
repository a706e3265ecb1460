"""Environments of Cairn for TRL's GRPOTrainer: classes whose methods are the tools of an environment.

```python
from cairn.integrations.trl import environment_factory, prepare_tokenizer, task_rows

trainer = GRPOTrainer(
    model=model,
    processing_class=prepare_tokenizer(tokenizer),
    train_dataset=Dataset.from_list(task_rows("orders")),
    environment_factory=environment_factory("orders"),
)
```
TRL gives all members of a group the same row, and so the same task.
"""

from __future__ import annotations

import inspect
import json
import tomllib
from collections.abc import Mapping
from typing import Any, Literal

from cairn.agents.models.chat import ChatTemplate
from cairn.agents.models.templates import call_format_of, load_template
from cairn.core.errors import ConfigError
from cairn.core.records import Schema, function_schema
from cairn.envs.base import TextEnv
from cairn.envs.registry import closing_env, make

TOOL, ARGUMENT = "act", "action"  # of an environment without tools
_RESERVED = ("reset", "get_reward")  # methods that TRL calls itself
_TYPES = {"string": str, "integer": int, "number": float, "boolean": bool, "array": list, "object": dict}
_TEXT_TOOL = function_schema(
    TOOL, "Carry out one action in the environment.", {ARGUMENT: {"type": "string"}}, [ARGUMENT]
)

_ANSWER_TOOL = function_schema("answer", "Give the final answer.", {ARGUMENT: {"type": "string"}}, [ARGUMENT])


class EpisodeOver(ValueError):  # noqa: N818  (an answer to the model)
    """A tool was called after the end of its episode; TRL shows the text to the model."""


class EnvironmentTools:
    """One environment for TRL; `environment_factory` makes subclasses, whose further methods are tools."""

    _env_id: str
    _config: Mapping[str, Any]  # Any: the environment's Config checks them

    def __init__(self) -> None:
        self._env: TextEnv = make(self._env_id, **self._config)
        self._reward = 0.0
        self._is_over = True

    def reset(self, task: str | None = None, **_: object) -> str:
        """Start the episode of a row's task and return its first text.

        Raises:
            ConfigError: the row has no task.
        """
        if task is None:
            raise ConfigError("The data set needs a column 'task' with ids of tasks; see task_rows")
        text, _info = self._env.reset(seed=0, options={"task": task})
        self._reward, self._is_over = 0.0, False
        return text

    def get_reward(self) -> float:
        """Return the sum of the rewards of the episode."""
        return self._reward

    def _step(self, action: str) -> str:
        if self._is_over:
            raise EpisodeOver("the episode is over")
        text, reward, terminated, truncated, _ = self._env.step(action)
        self._reward += float(reward)
        self._is_over = terminated or truncated
        return text


def environment_factory(
    env_id: str, **config: Any
) -> type[EnvironmentTools]:  # Any: the environment's Config checks them
    """Return a class for the argument `environment_factory` of `trl.GRPOTrainer`.

    Each tool of the environment is a method with type hints and a docstring, from which TRL makes the schema again. An
    environment without tools has one, `act(action: str)`; one that takes a text as final answer has
    `answer(action: str)` too, since TRL shows no environment a reply without a call.

    Raises:
        UnknownNameError: no such environment.
        ConfigError: a setting that it does not have, or a tool whose name TRL uses itself.
    """
    with closing_env(make(env_id, **config)) as env:
        _, info = env.reset(seed=0, options={"task": env.tasks()[0]})
        schemas = tuple(info.get("tools") or ())
    tools = (*schemas, *((_ANSWER_TOOL,) if schemas and info.get("takes_text") else ())) or (_TEXT_TOOL,)
    methods = {str(tool["function"]["name"]): _method(tool) for tool in tools}
    if taken := [name for name in methods if name in _RESERVED or name.startswith("_")]:
        raise ConfigError(f"{env_id!r} has a tool {taken[0]!r}, a name that TRL keeps for itself; rename the tool")
    title = "".join(part.capitalize() for part in env_id.replace(":", "/").replace("-", "/").split("/")[-1].split("_"))
    return type(title, (EnvironmentTools,), {"_env_id": env_id, "_config": config, **methods})


def task_rows(
    env_id: str, instruction: str = "", **config: Any
) -> list[dict[str, Any]]:  # Any: the environment's Config checks them
    """Return rows for `datasets.Dataset.from_list`: a prompt, to which TRL adds the first text, and a task's id."""
    with closing_env(make(env_id, **config)) as env:
        return [{"prompt": [{"role": "user", "content": instruction}], "task": task} for task in env.tasks()]


def prepare_tokenizer(tokenizer: Any, template: str | None = None) -> Any:  # Any: a transformers tokenizer
    """Give a tokenizer what training on calls needs, and return it.

    Args:
        tokenizer: a transformers tokenizer; it is changed.
        template: name of a chat template that ships with Cairn, or path of a file; None: the tokenizer's own.

    Raises:
        ConfigError: the chat template rewrites earlier turns or shows no tools, or its format of calls is not known.
    """
    if template is not None:
        tokenizer.chat_template = load_template(template)
    ChatTemplate(tokenizer).check(has_system=False, tools=(_TEXT_TOOL,))
    if getattr(tokenizer, "response_template", None) is None:
        file = call_format_of(str(tokenizer.chat_template))
        if file is None:
            raise ConfigError(
                "It is not known how models with this chat template write calls; set the tokenizer's response_template "
                "or name a chat template that ships with Cairn"
            )
        tokenizer.response_template = tomllib.loads(file.read_text(encoding="utf-8"))["response"]
    return tokenizer


def _method(tool: Schema) -> Any:  # Any: a function with a signature of its own
    """Return a method that calls a tool, with type hints and a docstring in Google's style."""
    schema = tool["function"]
    name, parameters = str(schema["name"]), schema.get("parameters") or {}
    required = set(parameters.get("required", ()))
    properties: dict[str, Any] = dict(parameters.get("properties", {}))

    def call(self: EnvironmentTools, *given: Any, **named: Any) -> str:  # Any: the model's arguments
        arguments = inspect.signature(call).bind(self, *given, **named).arguments
        chosen = {key: value for key, value in arguments.items() if key != "self" and value is not None}
        is_text = schema in (_TEXT_TOOL["function"], _ANSWER_TOOL["function"])
        return self._step(str(chosen[ARGUMENT]) if is_text else json.dumps({"name": name, "arguments": chosen}))

    kinds = {key: _type(each) if key in required else _type(each) | None for key, each in properties.items()}
    order = sorted(properties, key=lambda key: key not in required)  # those without a default first
    parts = [inspect.Parameter("self", inspect.Parameter.POSITIONAL_OR_KEYWORD)]
    for key in order:
        default = inspect.Parameter.empty if key in required else None
        kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
        parts.append(inspect.Parameter(key, kind, default=default, annotation=kinds[key]))
    lines = [f"    {key}: {_line(each.get('description') or key)}" for key, each in properties.items()]
    described: Any = call
    described.__name__ = described.__qualname__ = name
    described.__doc__ = "\n".join([_line(schema.get("description") or name), "", *(["Args:", *lines] if lines else [])])
    described.__annotations__ = {**kinds, "return": str}
    described.__signature__ = inspect.Signature(parts, return_annotation=str)
    return described


def _type(schema: Mapping[str, Any]) -> Any:  # Any: a type
    if schema.get("enum"):
        return Literal[tuple(schema["enum"])]
    if schema.get("type") == "array":
        return list[_type(schema.get("items") or {})]  # type: ignore[misc]  # a type made at run time
    return _TYPES.get(str(schema.get("type")), str)


def _line(text: str) -> str:
    return " ".join(text.split())
