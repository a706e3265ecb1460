"""`cairn sweep`: the same run with one setting varied, over several seeds."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from cairn.cli._shared.output import Json, Settings, show_json, show_table

if TYPE_CHECKING:
    from cairn.trainer.sweep import Variant


def register(app: typer.Typer) -> None:
    """Add the command to the application."""
    app.command()(sweep)


def sweep(
    config: Annotated[
        str, typer.Argument(help="A TOML file, or the name of a run that ships with Cairn.")
    ] = "quickstart",
    vary: Annotated[
        str, typer.Option(metavar="KEY=A,B,...", help="The setting and its values.")
    ] = "credit.method=gigpo,grpo",
    seeds: Annotated[int, typer.Option(min=1, help="Runs of each.")] = 3,
    folder: Annotated[Path | None, typer.Option(help="Where the runs are; finished ones are not repeated.")] = None,
    settings: Settings = [],
    as_json: Json = False,
) -> None:
    """Train every variant with several seeds.

    Print final success with intervals and paired differences.
    """
    from rich.console import Console

    from cairn.cli._shared.training_view import TrainingView
    from cairn.core.config import flatten, parse_flags
    from cairn.core.errors import ConfigError
    from cairn.trainer.config import load_run_config
    from cairn.trainer.sweep import sweep as run

    key, equals, listed = vary.partition("=")
    values = [value.strip() for value in listed.split(",") if value.strip()]
    if not equals or not values:
        raise ConfigError(f"--vary: expected KEY=A,B, such as credit.method=gigpo,grpo, got {vary!r}")
    overrides = flatten(parse_flags(settings))
    chosen = load_run_config(config, overrides)
    where = folder or Path("runs") / f"sweep-{chosen.name}-{key}"
    with TrainingView(Console(stderr=True), chosen.trainer.updates) as watch:
        variants = run(config, key, values, seeds, where, overrides=overrides, callback=watch)
    if as_json:
        show_json([variant.to_dict() for variant in variants])
    else:
        _show(key, values, seeds, variants)
    if any(variant.failed for variant in variants):
        raise typer.Exit(1)


def _show(key: str, values: list[str], seeds: int, variants: list[Variant]) -> None:
    rows = [
        (
            v.value,
            " ".join(f"{100 * x:.0f}" for x in v.starts),
            " ".join(f"{100 * x:.0f}" for x in v.ends),
            f"{100 * v.mean:.1f} +- {100 * v.half_width:.1f}" if v.ends else "",
            "" if v.value == values[0] else f"{100 * v.difference:+.1f} +- {100 * v.difference_half_width:.1f}",
        )
        for v in variants
    ]
    tasks = next(v.tasks for v in variants if v.tasks)
    typer.echo(f"Success on {tasks}, %, {seeds} seeds; intervals: Student's t over seeds, 95 %")
    show_table((key, "at the start", "at the end", "mean at the end", f"against {values[0]}, paired"), rows)
    for variant in variants:
        for text in variant.failed:
            typer.echo(f"cairn: {key}={variant.value}, {text}", err=True)
