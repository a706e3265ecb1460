"""Strict configuration: frozen models, TOML files, ``a.b=c`` flags, and helpful errors.

Precedence: defaults, then files, then flags. A component gets its own `Config`, never the whole tree.
"""

from __future__ import annotations

import difflib
import json
import math
import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from shlex import quote
from typing import Any, TypeVar, get_args

from pydantic import BaseModel, ConfigDict, ValidationError
from pydantic_core import ErrorDetails

from cairn.core.errors import ConfigError


class Config(BaseModel):
    """Base class of every configuration: frozen, no unknown keys, tested defaults."""

    model_config = ConfigDict(
        frozen=True, extra="forbid", validate_default=True, use_attribute_docstrings=True, allow_inf_nan=False
    )


C = TypeVar("C", bound=Config)


def build(cls: type[C], values: Mapping[str, Any], where: str) -> C:
    """Return `cls` built from `values`.

    Raises:
        ConfigError: a value is invalid or a key is unknown. The message names `where`, the key, the expected and the
            received value, and the nearest known key.
    """
    try:
        return cls.model_validate(as_table(values, where))
    except ValidationError as error:
        lines = [_explain(cls, detail) for detail in error.errors()]
        raise ConfigError(f"{where}: " + "; ".join(lines)) from None


def as_table(given: object, where: str) -> dict[str, Any]:
    """Return settings by name; an empty dict for None.

    Raises:
        ConfigError: `given` is not a mapping, or has a key that is not text.
    """
    if given is None:
        return {}
    if not isinstance(given, Mapping) or not all(isinstance(key, str) for key in given):
        raise ConfigError(f"{where}: expected a table of settings by name, got {given!r:.100}")
    return dict(given)


def read_toml(path: Path) -> dict[str, Any]:
    """Return the file's tables.

    Raises:
        ConfigError: the file is missing, unreadable or not TOML.
    """
    try:
        return tomllib.loads(path.read_text(encoding="utf-8-sig"))  # some editors begin files with a byte order mark
    except FileNotFoundError:
        raise ConfigError(f"No configuration file {str(path)!r}; expected a TOML file") from None
    except (OSError, ValueError) as error:  # ValueError: not UTF-8, not TOML, or an invalid path
        raise ConfigError(f"Cannot read configuration {str(path)!r}: {error}") from None


def merge(base: Mapping[str, Any], over: Mapping[str, Any]) -> dict[str, Any]:
    """Return `base` overridden by `over`, table by table; neither is changed."""
    out = dict(base)
    for key, value in over.items():
        old = out.get(key)
        out[key] = merge(old, value) if isinstance(old, Mapping) and isinstance(value, Mapping) else value
    return out


def parse_flags(flags: Sequence[str]) -> dict[str, Any]:
    """Convert ``["trainer.updates=10", "env.split=test"]`` to nested tables.

    A value is parsed as TOML if possible (``3``, ``true``, ``[1, 2]``, ``"text"``), else used as plain text.
    """
    out: dict[str, Any] = {}
    for flag in flags:
        key, equals, text = flag.partition("=")
        if not equals or not key.strip():
            raise ConfigError(f"Expected KEY=VALUE, such as trainer.updates=10, got {flag!r}")
        out = merge(out, nest({key.strip(): _value(text)}))
    return out


def as_flag(key: str, value: Any) -> str:  # Any: a setting
    """Return ``KEY=VALUE``, quoted for a shell, from which `parse_flags` reads this value."""
    is_plain = isinstance(value, str) and _value(value) == value
    return quote(f"{key}={value if is_plain else as_toml(value)}")


def as_toml(value: Any) -> str:  # Any: any TOML value
    """Return a value as TOML; texts, numbers and lists have the same syntax as in JSON."""
    if isinstance(value, Mapping):
        return "{ " + ", ".join(f"{as_toml(key)} = {as_toml(each)}" for key, each in value.items()) + " }"
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(map(as_toml, value)) + "]"
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    return json.dumps(value, ensure_ascii=False).replace("\x7f", r"\u007f")  # TOML has no surrogate escapes


def nest(dotted: Mapping[str, Any]) -> dict[str, Any]:
    """Convert ``{"trainer.updates": 10}`` to ``{"trainer": {"updates": 10}}``."""
    out: dict[str, Any] = {}
    for key, value in dotted.items():
        leaf = value
        for part in reversed(key.split(".")):
            leaf = {part: leaf}
        out = merge(out, leaf)
    return out


def flatten(tables: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """Convert ``{"trainer": {"updates": 10}}`` to ``{"trainer.updates": 10}``."""
    out: dict[str, Any] = {}
    for key, value in tables.items():
        out |= flatten(value, f"{prefix}{key}.") if isinstance(value, Mapping) and value else {f"{prefix}{key}": value}
    return out


def _value(text: str) -> Any:  # Any: any TOML value
    try:
        return tomllib.loads(f"value = {text}")["value"]
    except tomllib.TOMLDecodeError:
        return text


def _explain(cls: type[BaseModel], detail: ErrorDetails) -> str:
    path = [str(part) for part in detail["loc"]]
    name = ".".join(path)
    if detail["type"] != "extra_forbidden":
        return f"{name}: {detail['msg']}, got {detail['input']!r:.200}"
    known = sorted(_model_at(cls, path[:-1]).model_fields)
    near = difflib.get_close_matches(path[-1], known, n=1)
    hint = f"did you mean {near[0]!r}?" if near else f"known keys: {', '.join(known)}"
    return f"unknown key {name!r}; {hint}"


def _model_at(cls: type[BaseModel], path: Sequence[str]) -> type[BaseModel]:
    """Return the nested model at `path`, as far as the annotations name one."""
    for part in path:
        field = cls.model_fields.get(part)
        if field is None:
            break
        options = [field.annotation, *get_args(field.annotation)]
        models = [option for option in options if isinstance(option, type) and issubclass(option, BaseModel)]
        if not models:
            break
        cls = models[0]
    return cls
