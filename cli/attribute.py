"""`cairn attribute`: the contribution of each part of an agent."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from cairn.cli._shared.output import AgentSettings, Json, show_json, show_table
from cairn.cli._shared.progress import progress


def register(app: typer.Typer) -> None:
    """Add the command to the application."""
    app.command()(attribute)


def attribute(
    agent: Annotated[str, typer.Argument(help="As for cairn eval.")],
    panel: Annotated[str, typer.Option(help="A panel's name or file.")],
    part: Annotated[
        list[str],
        typer.Option(metavar="NAME:KEY=VALUE", help="A part and a setting that switches it on; may be given again."),
    ],
    temperature: Annotated[float, typer.Option(min=0.0, help="Of sampling.")] = 0.4,
    slots: Annotated[int | None, typer.Option(min=1, help="Episodes in flight.")] = None,
    folder: Annotated[Path, typer.Option(help="Where evaluations are kept.")] = Path("evals"),
    agent_settings: AgentSettings = [],
    as_json: Json = False,
) -> None:
    """Play an agent with every subset of its parts, and print each part's Shapley value.

    A part may have several settings: --part memory:agent.context.method=window --part
    memory:agent.context.window.history=8.
    """
    from cairn.agents.evaluation.attribution import attribute as run
    from cairn.agents.evaluation.jobs import Pace
    from cairn.agents.evaluation.panel import load_panel
    from cairn.core.config import parse_flags

    switches = _switches(part)
    with progress(f"sets of parts of {agent}", 2 ** len(switches)) as advance:
        found = run(
            agent,
            load_panel(panel),
            {name: parse_flags(flags) for name, flags in switches.items()},
            settings=parse_flags(agent_settings),
            temperature=temperature,
            pace=Pace(slots=slots),
            root=folder,
            on_set=lambda _: advance(),
        )
    if as_json:
        show_json(found.to_dict())
        return
    rows = [("none of them", str(found.none)), *((f"+ {name}", str(each)) for name, each in found.parts.items())]
    show_table(("part", "success, 95 % interval over tasks"), [*rows, ("all of them", str(found.all))])
    typer.echo("\nA part's value is its Shapley value: its average gain over all orders of switching parts on.")


def _switches(given: list[str]) -> dict[str, list[str]]:
    from cairn.core.errors import ConfigError

    found: dict[str, list[str]] = {}
    for each in given:
        name, colon, flag = each.partition(":")
        if not colon or not name or "=" not in flag:
            raise ConfigError(
                f"--part: expected NAME:KEY=VALUE, such as memory:agent.context.method=window, got {each!r}"
            )
        found.setdefault(name, []).append(flag)
    return found
