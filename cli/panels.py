"""`cairn panels`: list, show and make fixed lists of tasks for evaluations."""

from __future__ import annotations

from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Annotated

import typer

from cairn.cli._shared.output import Json, Settings, show_json, show_table
from cairn.cli._shared.progress import progress

if TYPE_CHECKING:
    from cairn.agents.evaluation.panel import Panel

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
    from cairn.agents.evaluation.panel import load_panel, names

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
        lines = [
            (each.name, str(each.version), total, each.summary) for each, total in zip(panels, totals, strict=True)
        ]
        show_table(("panel", "version", "tasks", ""), lines)


@commands.command()
def make(
    file: Annotated[Path, typer.Argument(help="The file to write, NAME.toml.")],
    env: Annotated[str, typer.Option(help="Environment id.")],
    tasks: Annotated[int, typer.Option(min=1, help="How many, evenly spread over the split.")] = 100,
    seed: Annotated[int, typer.Option(help="Of everything random.")] = 0,
    attempts: Annotated[int, typer.Option(min=1, help="At each task.")] = 1,
    family: Annotated[str, typer.Option(help="Under which name results are shown; default: the environment's.")] = "",
    summary: Annotated[str, typer.Option(help="A description of the panel, in one line.")] = "",
    may_differ: Annotated[bool, typer.Option(help="Tasks may begin otherwise elsewhere.")] = False,
    add: Annotated[bool, typer.Option("--add", help="Add these tasks to the panel that is there.")] = False,
    settings: Settings = [],
    as_json: Json = False,
) -> None:
    """Make a panel of an environment's tasks, or add a part to one.

    Each task is started once, to record how it begins.
    """
    from cairn.agents.evaluation.panel import PanelSection, load_panel, make_panel, spread, write_panel
    from cairn.core.config import parse_flags
    from cairn.core.errors import ConfigError
    from cairn.envs.registry import list_tasks

    if file.suffix != ".toml" or file.exists() != add:
        raise ConfigError(f"Expected the name of {'a' if add else 'a new'} .toml file, got {str(file)!r}")
    if not file.parent.is_dir():
        make = f"mkdir -p {quote(str(file.parent))}"
        raise ConfigError(f"Cannot write {str(file)!r}: there is no such folder; make it: {make}")
    before = load_panel(file) if add else None
    config = parse_flags(settings)
    chosen = dict.fromkeys(spread(list_tasks(env, config), tasks), "")
    part = PanelSection(
        family=family or env, env=env, version=0, config=config, seed=seed, attempts=attempts, may_differ=may_differ,
        tasks=chosen,
    )  # fmt: skip
    with progress(f"beginning tasks of {env}", len(chosen)) as advance:
        panel = make_panel(file.stem, summary or f"{len(chosen)} tasks of {env}", [part], lambda _: advance())
    if before is not None:
        update = {"summary": summary or before.summary, "parts": (*before.parts, *panel.parts)}
        panel = before.model_copy(update=update).sealed()
    write_panel(panel, file)
    _made(panel, file, as_json)


@commands.command()
def renew(
    file: Annotated[Path, typer.Argument(help="A panel's file.")],
    as_json: Json = False,
) -> None:
    """Make a panel again as its next version, because environments have changed.

    It has the same tasks, as they begin now. A panel whose tasks begin as before is not changed.
    """
    from cairn.agents.evaluation.panel import load_panel, make_panel, write_panel

    old = load_panel(file)
    with progress(f"beginning tasks of {old.name}", sum(len(part.tasks) for part in old.parts)) as advance:
        panel = make_panel(old.name, old.summary, old.parts, lambda _: advance())
    if panel.parts != old.parts:
        panel = panel.model_copy(update={"version": old.version + 1}).sealed()
        write_panel(panel, file)
    else:
        panel = old
    _made(panel, file, as_json)


def _made(panel: Panel, file: Path, as_json: bool) -> None:
    total = sum(len(part.tasks) for part in panel.parts)
    if as_json:
        show_json({"file": str(file), "name": panel.name, "version": panel.version, "hash": panel.hash, "tasks": total})
    else:
        typer.echo(f"{file}: {total} tasks, hash {panel.hash[:12]}. Play it: cairn eval --panel {quote(str(file))}")
