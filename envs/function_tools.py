"""Functions with type hints as tools: JSON schemas, and calls with validated arguments."""

from __future__ import annotations

import inspect
import json
import re
import sqlite3
from collections.abc import Callable, Collection, Coroutine, Mapping
from dataclasses import dataclass
from typing import Any, get_type_hints

from docstring_parser import parse as parse_docstring
from pydantic import BaseModel, ConfigDict, Field, ValidationError, create_model
from pydantic.errors import PydanticUserError
from pydantic_core import PydanticSerializationError, to_json

from cairn.core.errors import CairnError, ConfigError
from cairn.core.records import Schema
from cairn.core.text import shorten
from cairn.core.tool_arguments import tool_arguments

Function = Callable[..., Any]  # Any: any signature of a user's function
RunCoroutine = Callable[[Coroutine[Any, Any, Any]], Any]
WORLD = "world"  # the parameter that receives the episode's world and is hidden in schemas
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,63}")
_SUBSCHEMAS = ("properties", "patternProperties")  # keys of a schema whose value is a mapping of names to schemas
_DATA = ("default", "enum", "const", "examples")  # keys whose value is not a schema
_MAX_RESULT_CHARS = 16_384
_MAX_ERROR_CHARS = 500


@dataclass(frozen=True, slots=True, kw_only=True)
class FunctionTool:
    """A function that a model may call."""

    name: str
    schema: Schema
    function: Function
    arguments: type[BaseModel]
    parameters: Mapping[str, str]  # of the function, by field of `arguments`
    takes_world: bool

    def call(self, given: object, world: object, run: RunCoroutine) -> tuple[str, bool]:
        """Return the result of a call, or an error message, as text, and whether it is a result.

        Errors are invalid arguments and exceptions of the function.

        Args:
            given: the model's arguments, as an object or as JSON text.
            world: value of the parameter `world`.
            run: function that runs the coroutine of an asynchronous function.

        Raises:
            CairnError: an infrastructure failure, which is not an error of the model.
            MemoryError: likewise.
        """
        arguments = tool_arguments(given)
        if isinstance(arguments, str):
            return f"In the call of {self.name}, {arguments}.", False
        try:
            found = self.arguments.model_validate(arguments)
        except ValidationError as error:
            return f"The call of {self.name} does not fit its schema: {_in_words(error)}.", False
        values = {parameter: getattr(found, field) for field, parameter in self.parameters.items()}
        if self.takes_world:
            values[WORLD] = world
        try:
            result = self.function(**values)
            return _as_text(run(result) if inspect.iscoroutine(result) else result), True
        except (CairnError, MemoryError):
            raise
        except sqlite3.ProgrammingError as error:
            if "thread" in str(error):
                raise CairnError(
                    "environments may be made in one thread and played in another: connect to SQLite with "
                    "check_same_thread=False"
                ) from error
            return _error(error), False
        except Exception as error:  # noqa: BLE001  (exceptions of the user's function are reported to the model)
            return _error(error), False


def function_tool(function: Function, *, has_world: bool = False) -> FunctionTool:
    """Return a function as a tool.

    Its docstring describes it, and those of its arguments that have no description of their own.

    Raises:
        ConfigError: the function cannot be a tool; the message names the function, the argument and the reason.
    """
    name = getattr(function, "__name__", "")
    if not callable(function) or not _NAME.fullmatch(name):
        raise ConfigError(f"A tool must be a function with a name of its own, got {function!r:.100}")
    try:
        signature, hints = inspect.signature(function), get_type_hints(function, include_extras=True)
    except (NameError, TypeError, ValueError) as error:
        raise ConfigError(f"The type hints of the tool {name!r} cannot be read: {error}") from error
    takes_world = WORLD in signature.parameters
    if takes_world and not has_world:
        raise ConfigError(f"The tool {name!r} has a parameter {WORLD!r}, but no {WORLD} is given to tools_env")
    shown = [each for each in signature.parameters.values() if each.name != WORLD]
    for each in shown:
        _check(name, each, hints)
    parameters = {f"argument_{number}": each.name for number, each in enumerate(shown)}
    try:
        arguments = _model(name, shown, hints)
        parsed = parse_docstring(inspect.getdoc(function) or "")
        schema = _flat(arguments.model_json_schema(by_alias=True))
    except (PydanticUserError, RecursionError) as error:
        raise ConfigError(f"The tool {name!r} has a type that has no JSON schema: {error!s:.300}") from error
    texts = {each.arg_name: each.description or "" for each in parsed.params}
    for argument, each in schema.setdefault("properties", {}).items():
        if texts.get(argument):
            each.setdefault("description", " ".join(texts[argument].split()))
    description = "\n\n".join(filter(None, (parsed.short_description, parsed.long_description)))
    body = {"name": name, "description": description or name, "parameters": schema}
    return FunctionTool(
        name=name,
        schema={"type": "function", "function": body},
        function=function,
        arguments=arguments,
        parameters=parameters,
        takes_world=takes_world,
    )


def call_by_name(function: Function, what: str, given: Mapping[str, object]) -> Any:  # Any: the function's result
    """Call a user's function with the values of `given` that match its parameters."""
    return function(**{name: given[name] for name in check_parameters(function, what, given)})


def check_parameters(function: Function, what: str, known: Collection[str]) -> list[str]:
    """Return the known names among a function's parameters.

    Raises:
        ConfigError: it requires other parameters.
    """
    try:
        parameters = inspect.signature(function).parameters.values()
    except ValueError:  # a built-in type
        return []
    if any(each.kind is each.VAR_KEYWORD for each in parameters):
        return list(known)
    named = [each for each in parameters if each.kind in (each.POSITIONAL_OR_KEYWORD, each.KEYWORD_ONLY)]
    needed = [each.name for each in parameters if each.default is each.empty and each.kind is not each.VAR_POSITIONAL]
    if unknown := [name for name in needed if name not in known]:
        raise ConfigError(f"{what} needs a parameter {unknown[0]!r}; it may have {', '.join(known)}")
    return [each.name for each in named if each.name in known]


def _check(tool: str, parameter: inspect.Parameter, hints: Mapping[str, Any]) -> None:  # Any: types
    if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD, parameter.POSITIONAL_ONLY):
        raise ConfigError(f"The tool {tool!r} takes {parameter.name!r} without its name, or others by any name")
    if parameter.name not in hints:
        raise ConfigError(f"The tool {tool!r} has no type hint for {parameter.name!r}")


def _model(tool: str, shown: list[inspect.Parameter], hints: Mapping[str, Any]) -> type[BaseModel]:  # Any: types
    fields: dict[str, Any] = {  # Any: pydantic's field definitions
        f"argument_{number}": (
            hints[each.name],
            Field(... if each.default is each.empty else each.default, alias=each.name),
        )
        for number, each in enumerate(shown)
    }
    made: type[BaseModel] = create_model(tool, __config__=ConfigDict(extra="forbid"), **fields)
    return made


def _flat(schema: dict[str, Any]) -> dict[str, Any]:  # Any: JSON
    """Return a schema without references and titles.

    Chat templates and small models do not resolve them.
    """
    definitions = schema.pop("$defs", {})

    def walked(node: Any, *, is_named: bool = False) -> Any:  # Any: JSON
        if isinstance(node, list):
            return [walked(each) for each in node]
        if not isinstance(node, dict):
            return node
        if "$ref" in node and not is_named:
            rest = {key: value for key, value in node.items() if key != "$ref"}
            return walked({**definitions[node["$ref"].rsplit("/", 1)[-1]], **rest})  # a recursive type never ends
        return {
            key: value if key in _DATA and not is_named else walked(value, is_named=key in _SUBSCHEMAS and not is_named)
            for key, value in node.items()
            if is_named or key not in ("title", "discriminator")
        }

    found: dict[str, Any] = walked(schema)
    return found


def _in_words(error: ValidationError) -> str:
    first = error.errors(include_url=False, include_context=False, include_input=False)[0]
    where = ".".join(map(str, first["loc"]))
    return shorten(f"{where}: {first['msg']}" if where else first["msg"], _MAX_ERROR_CHARS)


def _error(error: Exception) -> str:
    return shorten(f"{type(error).__name__}: {error}", _MAX_ERROR_CHARS)


def _as_text(result: object) -> str:
    text = _written(result)
    if len(text) > _MAX_RESULT_CHARS:
        return f"{text[:_MAX_RESULT_CHARS]}\n[{len(text) - _MAX_RESULT_CHARS} further characters are left out.]"
    return text


def _written(result: object) -> str:
    if result is None:
        return "Done."
    if isinstance(result, (str, bytes)):
        return result if isinstance(result, str) else result.decode("utf-8", "replace")
    try:
        plain = json.loads(to_json(result, bytes_mode="base64", inf_nan_mode="strings", fallback=str))
    except (PydanticSerializationError, ValueError, RecursionError):
        return str(result)
    return plain if isinstance(plain, str) else json.dumps(plain, ensure_ascii=False)
