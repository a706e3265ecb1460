"""`cairn report`: runs and evaluations as one HTML file, and figures for papers."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from cairn.cli._shared.output import Json, show_json
from cairn.cli._shared.progress import progress


def register(app: typer.Typer) -> None:
    """Add the command to the application."""
    app.command()(report)


def report(
    runs: Annotated[list[Path], typer.Argument(help="Runs and evaluations, or folders with such folders in them.")],
    out: Annotated[Path, typer.Option(help="The HTML file.")] = Path("report.html"),
    figures: Annotated[Path | None, typer.Option(help="A folder for curves as SVG and PNG.")] = None,
    as_json: Json = False,
) -> None:
    """Write one self-contained HTML file about runs and evaluations.

    It has curves, tables, example episodes, a graph, settings and versions.
    """
    from cairn.viewer.figures import write_figures
    from cairn.viewer.report import write_report

    with progress(f"writing {out}"):
        count, problems = write_report(runs, out)
        files = write_figures(runs, figures) if figures is not None else []
    for problem in problems:
        typer.echo(f"left out: {problem}", err=True)
    if as_json:
        show_json({"report": str(out), "runs": count, "figures": [str(file) for file in files]})
        return
    typer.echo(f"{count} run{'s' if count > 1 else ''} in {out}")
    for file in files:
        typer.echo(str(file))
