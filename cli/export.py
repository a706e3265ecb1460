"""`cairn export`: a run as Parquet files for other tools."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from cairn.cli._shared.output import Json, show_json, show_table
from cairn.cli._shared.progress import progress


def register(app: typer.Typer) -> None:
    """Add the command to the application."""
    app.command("export")(export)


def export(
    run: Annotated[Path, typer.Argument(help="A run's or an evaluation's folder.")],
    folder: Annotated[Path, typer.Argument(help="A new folder for the files.")],
    as_json: Json = False,
) -> None:
    """Write a run as Parquet files.

    They can be read with pandas, Polars, DuckDB and datasets.load_dataset(FOLDER, "turns").
    """
    from cairn.core.store import RunStore
    from cairn.core.store.parquet import export_run

    with progress(f"writing {folder}"), RunStore.read(run) as store:
        counts = export_run(store, folder)
    if as_json:
        show_json({"folder": str(folder), "rows": counts})
    else:
        show_table(("file", "rows"), [(f"{folder}/{name}.parquet", f"{n:,}") for name, n in sorted(counts.items())])
