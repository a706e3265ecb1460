"""`cairn plugins`: every extension point and its plug-ins."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Annotated

import typer

from cairn.cli._shared.output import Json, show_json, show_table
from cairn.cli._shared.progress import progress


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
    from cairn.cli._pages import algorithms as algorithms_page
    from cairn.cli._pages import attacks as attacks_page
    from cairn.cli._pages import gui_tasks as gui_tasks_page
    from cairn.cli._pages import plugins as plugins_page
    from cairn.core.errors import CairnError, UnknownNameError
    from cairn.core.plugins import POINTS

    chosen = [each for each in POINTS if point in ("", each.name)]
    if not chosen:
        raise UnknownNameError("extension point", point, [each.name for each in POINTS], "cairn plugins")
    pages: dict[str, tuple[bool, Callable[[], str]]] = {
        "markdown": (markdown, lambda: plugins_page.page(chosen)),
        "algorithms": (algorithms is not None, lambda: algorithms_page.page(algorithms or Path())),
        "attacks": (attacks, attacks_page.page),
        "gui-tasks": (gui_tasks, gui_tasks_page.page),
    }
    asked = [(name, write) for name, (is_asked, write) in pages.items() if is_asked]
    if len(asked) > 1:
        raise CairnError(f"--{asked[0][0]} and --{asked[1][0]} are two pages; ask for one at a time")
    if asked:
        with progress(f"writing the page of --{asked[0][0]}"):
            text = asked[0][1]()
        show_json({"page": text}) if as_json else typer.echo(text, nl=False)
        return
    rows = [
        (each.name, name, place, plugins_page.summary(place))
        for each in chosen
        for name, place in each.places().items()
    ]
    if as_json:
        show_json([dict(zip(("point", "id", "place", "summary"), row, strict=True)) for row in rows])
    else:
        show_table(("point", "id", "module", "what"), rows)
