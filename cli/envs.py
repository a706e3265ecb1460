"""`cairn envs`: list, check, create, record and serve environments."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from cairn.cli._shared.output import AgentSettings, Json, Settings, show_json, show_table
from cairn.cli._shared.progress import progress

if TYPE_CHECKING:
    from cairn.envs.base import TextEnv

Name = Annotated[str, typer.Argument(help="Registered id, or PACKAGE.MODULE:CLASS.")]
commands = typer.Typer(no_args_is_help=True)


def register(app: typer.Typer) -> None:
    """Add the commands to the application."""
    app.add_typer(commands, name="envs", help="List, check, start and serve environments.")


@commands.command("list")
def list_(
    name: Annotated[str, typer.Argument(help="One environment, for its settings.")] = "",
    tasks: Annotated[bool, typer.Option("--tasks", help="Print the task ids.")] = False,
    settings: Settings = [],
    as_json: Json = False,
) -> None:
    """List all environments, or show one."""
    if name:
        _show_one(name, tasks, settings, as_json)
    else:
        _show_all(as_json)


@commands.command()
def check(name: Name, settings: Settings = [], as_json: Json = False) -> None:
    """Check the properties of an environment; exit status 1 if it violates one."""
    from cairn.core.config import parse_flags
    from cairn.envs import checker

    reports = []
    with progress(f"properties on {name}", len(checker.PROPERTIES)) as advance:
        for report in checker.check(name, parse_flags(settings)):
            reports.append(report)
            advance(f"{report.name}: {'holds' if report.holds else 'BROKEN'}")
    if as_json:
        show_json([asdict(report) for report in reports])
    else:
        rows = [(r.name, "holds" if r.holds else "BROKEN", f"{r.seconds:.2f} s", r.detail) for r in reports]
        show_table(("property", "", "time", "measured"), rows)
    if not all(report.holds for report in reports):
        raise typer.Exit(1)


@commands.command()
def new(
    name: Annotated[str, typer.Argument(help="Lower case words joined by hyphens, such as ticket-desk.")],
    as_json: Json = False,
) -> None:
    """Write a small working environment, its test and its page of documentation."""
    from cairn.cli._shared.new_env import write

    created = write(name)
    if as_json:
        show_json({"files": [str(path) for path in created.files], "next": created.next_steps})
        return
    for path in created.files:
        typer.echo(f"wrote {path}")
    for step in created.next_steps:
        typer.echo(f"next: {step}")


@commands.command()
def record(
    name: Name,
    out: Annotated[Path, typer.Option(help="New file: JSON lines; compressed if its name ends in .gz.")],
    agent: Annotated[str, typer.Option(help="Who plays; as in cairn eval.")] = "oracle",
    tasks: Annotated[int, typer.Option(min=1, help="How many, evenly spread over the split.")] = 10,
    seed: Annotated[int, typer.Option(help="Of everything random.")] = 0,
    temperature: Annotated[float, typer.Option(min=0.0, help="Of sampling; 0: the most probable token.")] = 0.4,
    unsolved: Annotated[bool, typer.Option("--unsolved", help="Keep episodes that did not solve their task.")] = False,
    settings: Settings = [],
    agent_settings: AgentSettings = [],
    as_json: Json = False,
) -> None:
    """Record an agent on web pages, for gui/replay."""
    from cairn.agents.evaluation.record_gui import record as run
    from cairn.core.config import parse_flags
    from cairn.core.errors import CairnError
    from cairn.envs.gui.recording_file import check_free, write

    check_free(out)
    with progress(f"{agent} on {name}", tasks) as advance:
        recording, left_out = run(
            agent, name, config=parse_flags(settings), settings=parse_flags(agent_settings), tasks=tasks, seed=seed,
            temperature=temperature, unsolved=unsolved, on_episode=lambda _: advance(),
        )  # fmt: skip
    if not recording.episodes:
        raise CairnError(f"No episode to record; left out: {dict(left_out)}")
    write(recording, out)
    num_moves = sum(len(episode.moves) for episode in recording.episodes)
    counts = {"episodes": len(recording.episodes), "moves": num_moves, "left_out": dict(left_out)}
    if as_json:
        show_json({"file": str(out), **counts, "bytes": out.stat().st_size})
        return
    reasons = ", ".join(f"{count} {reason}" for reason, count in left_out.items()) or "none"
    typer.echo(f"{out}: {len(recording.episodes)} episodes, {num_moves} actions; left out: {reasons}")


@commands.command()
def serve(
    name: Name,
    web: Annotated[bool, typer.Option("--web", help="As web pages, for people and browsers.")] = False,
    task: Annotated[str, typer.Option(help="Task that the start page offers first; default: the split's first.")] = "",
    port: Annotated[int, typer.Option(min=0, max=65535, help="Where to listen, on 127.0.0.1; 0: any free port.")] = 0,
    settings: Settings = [],
    as_json: Json = False,
) -> None:
    """Serve an environment on this machine, until Ctrl-C."""
    from cairn.cli._shared.serve_pages import serve as run
    from cairn.core.config import parse_flags
    from cairn.core.errors import CairnError

    if not web:
        raise CairnError("Say how to serve it: --web serves web pages.")

    def announce(url: str) -> None:
        typer.echo(json.dumps({"url": url}) if as_json else f"{name} is at {url} (Ctrl-C stops it)")

    run(name, parse_flags(settings), task, port, announce)


def _show_all(as_json: bool) -> None:
    from cairn.core.errors import CairnError
    from cairn.envs import registry

    rows: list[dict[str, Any]] = []  # Any: JSON
    for env_id in registry.ids():
        try:
            meta = registry.load(env_id).meta
        except CairnError as error:  # one that cannot be loaded here must not hide the others
            rows.append({"id": env_id, "version": None, "turn_limit": None, "summary": f"cannot be loaded: {error}"})
        else:
            rows.append({"id": env_id} | {key: getattr(meta, key) for key in ("version", "turn_limit", "summary")})
    if as_json:
        show_json(rows)
    else:
        show_table(("id", "version", "turns", "what"), [[str(v) for v in row.values()] for row in rows])


def _show_one(name: str, tasks: bool, settings: list[str], as_json: bool) -> None:
    from cairn.core.config import parse_flags
    from cairn.envs import registry

    config = parse_flags(settings)
    if tasks:
        names = registry.list_tasks(name, config)
        show_json(names) if as_json else typer.echo("\n".join(names))
        return
    with registry.closing_env(registry.make(name, **config)) as env:
        described = _description(env)
    if as_json:
        show_json(described)
    else:
        fields = described.pop("settings")
        show_table(("", ""), [(key, str(value)) for key, value in described.items()])
        typer.echo()
        show_table(("setting", "value", "what"), [(f["name"], str(f["value"]), f["what"]) for f in fields])


def _description(env: TextEnv) -> dict[str, Any]:  # Any: JSON
    from cairn.envs import registry

    values = env.config.model_dump(mode="json")
    fields = [
        {"name": key, "value": values[key], "what": field.description or ""}
        for key, field in type(env.config).model_fields.items()
    ]
    return {**asdict(env.meta), "num_tasks": len(registry.task_ids(env)), "settings": fields}
