"""Writes docs/plugins.md, and reads summaries of plug-ins without importing them."""

from __future__ import annotations

import ast
import importlib
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path

from cairn.core.config import Config
from cairn.core.plugins import ExtensionPoint

_HEAD = """# Plug-ins

Written by `make docs` from the code; do not edit. An id is a file name: `docs/add_env.md` shows how to add one.
Packages outside this repository register an entry point in the point's group.
"""


def summary(place: str) -> str:
    """Return the first line of a module's docstring, or ""; the module is parsed, not imported."""
    spec = find_spec(place.partition(":")[0])
    if spec is None or spec.origin is None:
        return ""
    docstring = ast.get_docstring(ast.parse(Path(spec.origin).read_text(encoding="utf-8"))) or ""
    return docstring.partition("\n")[0].rstrip(".")


def page(points: Sequence[ExtensionPoint]) -> str:
    """Return the page in Markdown, with a table of settings per plug-in."""
    return "\n".join([_HEAD, *(_section(point) for point in points)])


def _section(point: ExtensionPoint) -> str:
    lines = [
        f"## {point.name}",
        "",
        f"Modules of `{point.package}` that export `{point.constant}`; entry points `{point.group}`.",
        "",
    ]
    for name, module in point.places().items():
        if ":" not in module:  # plug-ins of other packages are not part of this repository's page
            lines += [f"### {name}", "", f"{summary(module)}.", "", *_settings(module)]
    return "\n".join(lines)


def _settings(module: str) -> list[str]:
    rows = [
        f"| `{key}` | `{field.get_default(call_default_factory=True)!r}` | {field.description or ''} |"
        for cls in _configs(module)
        for key, field in cls.model_fields.items()
    ]
    return ["| setting | default | what |", "|---|---|---|", *rows, ""] if rows else []


def _configs(module: str) -> list[type[Config]]:
    """Return the configuration class that the module defines: a list of one, or empty."""
    found = importlib.import_module(module)
    return [
        value
        for value in vars(found).values()
        if isinstance(value, type) and issubclass(value, Config) and value.__module__ == module
    ][-1:]
