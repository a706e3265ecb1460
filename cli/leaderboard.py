"""`cairn leaderboard`: stored evaluations as a Markdown table."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from cairn.cli._shared.output import Json, show_json
from cairn.cli._shared.progress import progress


def register(app: typer.Typer) -> None:
    """Add the command to the application."""
    app.command()(leaderboard)


def leaderboard(
    places: Annotated[list[Path], typer.Argument(help="Evaluations, or folders of them.")] = [Path("evals")],
    as_json: Json = False,
) -> None:
    """Print stored evaluations as Markdown, best first; one table per panel, with its hash."""
    from cairn.agents.evaluation.leaderboard import find_evaluations
    from cairn.agents.evaluation.leaderboard import leaderboard as table

    with progress("reading evaluations"):
        found, problems = find_evaluations(places)
    for problem in problems:
        typer.echo(f"left out: {problem}", err=True)
    if as_json:
        show_json([each.to_dict() for each in found])
    else:
        typer.echo(table(found), nl=False)
