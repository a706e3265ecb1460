"""`cairn bench`: what was measured, against what, and whether it holds."""

from __future__ import annotations

import importlib
import pkgutil
from pathlib import Path
from typing import Annotated

import typer

from cairn.cli._output import Json, show_json, show_table


def register(app: typer.Typer) -> None:
    """Add the command to the application."""
    app.command()(bench)


def bench(
    name: Annotated[str, typer.Argument(help="Which one; default: all.")] = "",
    env: Annotated[str, typer.Option(help="For envs: which environment.")] = "household",
    quick: Annotated[bool, typer.Option("--quick", help="Under 45 s: for a look, not for a claim.")] = False,
    as_json: Json = False,
) -> None:
    """Run benchmarks; exit status 1 if a bar does not hold."""
    from cairn import benchmarks
    from cairn.core.errors import UnknownNameError

    known = [m.name for m in pkgutil.iter_modules([str(Path(benchmarks.__path__[0]))]) if not m.name.startswith("_")]
    if name and name not in known:
        raise UnknownNameError("benchmark", name, known, "cairn bench --help")
    rows = []
    for each in [name] if name else known:
        arguments = {"env": env} if each == "envs" else {}
        rows += importlib.import_module(f"cairn.benchmarks.{each}").run(quick=quick, **arguments)
    if as_json:
        show_json(rows)
    else:
        show_table(
            ("what", "value", "unit", "baseline", "bar", "holds"),
            [
                tuple(
                    "" if row[k] is None else _cell(row[k])
                    for k in ("name", "value", "unit", "baseline", "bar", "holds")
                )
                for row in rows
            ],
        )
    if any(row["holds"] is False for row in rows):
        raise typer.Exit(1)


def _cell(value: object) -> str:
    return f"{value:,.4g}" if isinstance(value, float) else str(value)
