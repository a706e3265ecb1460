"""`cairn plugins`: every extension point and what is plugged into it."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from cairn.cli._output import Json, show_json, show_table


def register(app: typer.Typer) -> None:
    """Add the command to the application."""
    app.command()(plugins)


def plugins(
    point: Annotated[str, typer.Option(help="One extension point only.")] = "",
    markdown: Annotated[bool, typer.Option("--markdown", help="Print docs/plugins.md, with every setting.")] = False,
    algorithms: Annotated[
        Path | None, typer.Option(help="Print docs/algorithms.md, with the measurements of this file.")
    ] = None,
    attacks: Annotated[bool, typer.Option("--attacks", help="Print docs/attacks.md.")] = False,
    gui_tasks: Annotated[bool, typer.Option("--gui-tasks", help="Print docs/envs/gui-tasks.md.")] = False,
    as_json: Json = False,
) -> None:
    """List the extension points and their plug-ins."""
    from cairn.cli import _algorithm_page, _attack_page, _gui_page
    from cairn.cli import _plugin_page as page
    from cairn.core.errors import UnknownNameError
    from cairn.core.plugins import POINTS

    chosen = [each for each in POINTS if point in ("", each.name)]
    if not chosen:
        raise UnknownNameError("extension point", point, [each.name for each in POINTS], "cairn plugins")
    if markdown:
        typer.echo(page.page(chosen), nl=False)
        return
    if algorithms is not None:
        typer.echo(_algorithm_page.page(algorithms), nl=False)
        return
    if attacks:
        typer.echo(_attack_page.page(), nl=False)
        return
    if gui_tasks:
        typer.echo(_gui_page.page(), nl=False)
        return
    rows = [(each.name, name, place, page.summary(place)) for each in chosen for name, place in each.places().items()]
    if as_json:
        show_json([dict(zip(("point", "id", "place", "summary"), row, strict=True)) for row in rows])
    else:
        show_table(("point", "id", "module", "what"), rows)
