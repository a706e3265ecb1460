"""`cairn panels`: fixed lists of tasks to evaluate on: which there are, what is in one, and how to make one."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from cairn.cli._output import Json, Settings, show_json, show_table

commands = typer.Typer(no_args_is_help=True)


def register(app: typer.Typer) -> None:
    """Add the commands to the application."""
    app.add_typer(commands, name="panels", help="List, show and make panels of tasks to evaluate on.")


@commands.command("list")
def list_(
    name: Annotated[str, typer.Argument(help="One panel, by name or file, for its parts.")] = "",
    as_json: Json = False,
) -> None:
    """List the panels that ship with Cairn, or show one."""
    from cairn.agents.panel import load_panel, names

    panels = [load_panel(each) for each in ([name] if name else names())]
    if as_json:
        show_json([panel.model_dump(mode="json") for panel in panels])
    elif name:
        (panel,) = panels
        typer.echo(f"{panel.name}, version {panel.version}: {panel.summary}\nhash {panel.hash}")
        rows = [
            (part.family, part.env, str(part.version), str(len(part.tasks)), str(part.attempts), str(part.config or ""))
            for part in panel.parts
        ]
        show_table(("family", "environment", "version", "tasks", "attempts", "settings"), rows)
    else:
        totals = [str(sum(len(part.tasks) for part in panel.parts)) for panel in panels]
        told = [(each.name, str(each.version), total, each.summary) for each, total in zip(panels, totals, strict=True)]
        show_table(("panel", "version", "tasks", ""), told)


@commands.command()
def make(
    file: Annotated[Path, typer.Argument(help="The file to write, NAME.toml.")],
    env: Annotated[str, typer.Option(help="Environment id.")],
    tasks: Annotated[int, typer.Option(min=1, help="How many, evenly spread over the split.")] = 100,
    seed: Annotated[int, typer.Option(help="Of everything random.")] = 0,
    attempts: Annotated[int, typer.Option(min=1, help="At each task.")] = 1,
    summary: Annotated[str, typer.Option(help="What it is, in a line.")] = "",
    may_differ: Annotated[bool, typer.Option(help="Tasks may begin otherwise elsewhere.")] = False,
    settings: Settings = [],
    as_json: Json = False,
) -> None:
    """Make a panel of one environment's tasks: each is begun once, to note how it does."""
    from cairn.agents.panel import Part, make_panel, spread, write_panel
    from cairn.core.config import parse_flags
    from cairn.core.errors import ConfigError
    from cairn.envs.registry import make as make_env

    if file.suffix != ".toml" or file.exists():
        raise ConfigError(f"Expected the name of a new .toml file, got {str(file)!r}")
    config = parse_flags(settings)
    with make_env(env, **config) as world:
        chosen = dict.fromkeys(spread(world.tasks(), tasks), "")
    part = Part(
        family=env,
        env=env,
        version=0,
        config=config,
        seed=seed,
        attempts=attempts,
        may_differ=may_differ,
        tasks=chosen,
    )
    panel = make_panel(file.stem, summary or f"{len(chosen)} tasks of {env}", [part])
    write_panel(panel, file)
    if as_json:
        show_json({"file": str(file), "name": panel.name, "hash": panel.hash, "tasks": len(chosen)})
    else:
        typer.echo(f"{file}: {len(chosen)} tasks, hash {panel.hash[:12]}. Play it: cairn eval --panel {file}")
