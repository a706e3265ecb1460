"""`cairn bench`: benchmarks with their baselines and bars."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from cairn.cli._shared.output import Json, show_json, show_table

if TYPE_CHECKING:
    from cairn.benchmarks.outcome import Measurement


def register(app: typer.Typer) -> None:
    """Add the command to the application."""
    app.command()(bench)


def bench(
    name: Annotated[
        str,
        typer.Argument(help="credit, envs, resume, rollout, sandbox, schedule, store, train or viewer; default: all."),
    ] = "",
    env: Annotated[str | None, typer.Option(help="For envs: which environment; default: household.")] = None,
    speed: Annotated[bool, typer.Option("--speed", help="For credit: times.")] = False,
    factorial: Annotated[bool, typer.Option("--factorial", help="For credit: all combinations of slots.")] = False,
    gpu: Annotated[bool, typer.Option("--gpu", help="For train and rollout: only what needs a GPU.")] = False,
    out: Annotated[Path | None, typer.Option(help="For credit: a folder for all numbers and the figure.")] = None,
    quick: Annotated[bool, typer.Option("--quick", help="Under 45 s: for a look, not for a claim.")] = False,
    as_json: Json = False,
) -> None:
    """Run benchmarks; exit status 1 if a bar is not met."""
    from cairn import benchmarks

    given: dict[str, object] = {
        "env": env,
        "speed": speed or None,
        "factorial": factorial or None,
        "gpu": gpu or None,
        "out": out,
    }
    options = {key: value for key, value in given.items() if value is not None}
    rows = []
    chosen = _chosen(name, Path(benchmarks.__path__[0]))
    for at, each in enumerate(chosen):
        if len(chosen) > 1:
            typer.echo(f"{each}: benchmark {at + 1} of {len(chosen)}", err=True)
        outcome = _run(each, quick, options if name else {})
        rows += outcome.rows
        if not as_json:
            for table in outcome.tables:
                typer.echo(table.title)
                show_table(table.columns, table.rows)
                typer.echo()
    if as_json:
        show_json(rows)
    else:
        columns = ("name", "value", "unit", "baseline", "bar", "holds")
        show_table(columns, [tuple("" if line[k] is None else _cell(line[k]) for k in columns) for line in rows])
    if any(line["holds"] is False for line in rows):
        raise typer.Exit(1)


def _chosen(name: str, folder: Path) -> list[str]:
    """Return the benchmarks to run: the named one, or all."""
    from cairn.core.errors import UnknownNameError

    known = [module.name for module in pkgutil.iter_modules([str(folder)]) if module.ispkg]
    if name and name not in known:
        raise UnknownNameError("benchmark", name, known, "cairn bench --help")
    return [name] if name else known


def _run(name: str, quick: bool, options: dict[str, object]) -> Measurement:
    from cairn.core.errors import CairnError

    run = importlib.import_module(f"cairn.benchmarks.{name}").run
    if unknown := sorted(set(options) - set(inspect.signature(run).parameters)):
        raise CairnError(f"cairn bench {name} has no option --{unknown[0]}; see cairn bench --help")
    outcome: Measurement = run(quick=quick, **options)
    return outcome


def _cell(value: object) -> str:
    return f"{value:,.4g}" if isinstance(value, float) else str(value)
