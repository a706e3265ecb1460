"""`cairn import`: a run from the files of `cairn export`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from cairn.cli._shared.output import Json, show_json
from cairn.cli._shared.progress import progress


def register(app: typer.Typer) -> None:
    """Add the command to the application."""
    app.command("import")(import_)


def import_(
    folder: Annotated[Path, typer.Argument(help="What cairn export wrote.")],
    run: Annotated[Path, typer.Argument(help="A new folder for the run.")],
    as_json: Json = False,
) -> None:
    """Create a run from Parquet files of cairn export, to view it or compute credit on it."""
    from cairn.core.store import read
    from cairn.core.store.parquet import import_run

    with progress(f"reading {folder}"), import_run(folder, run / "run.sqlite") as store:
        episodes = len(read.episodes(store))
    if as_json:
        show_json({"run": str(run), "episodes": episodes})
    else:
        typer.echo(f"{run}: {episodes:,} episodes")
