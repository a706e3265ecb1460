"""`cairn view`: runs in a browser, during training and afterwards."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from cairn.cli._shared.output import Json, show_json


def register(app: typer.Typer) -> None:
    """Add the command to the application."""
    app.command()(view)


def view(
    runs: Annotated[list[Path], typer.Argument(help="Folders of runs, or folders with such folders in them.")],
    port: Annotated[int, typer.Option(min=0, max=65535, help="Where to listen; 0: any free port.")] = 6007,
    host: Annotated[
        str, typer.Option(help="Where to listen; other than loopback, visitors need the token.")
    ] = "127.0.0.1",
    token: Annotated[str, typer.Option(help="What visitors must show; default off loopback: a new one.")] = "",
    no_browser: Annotated[bool, typer.Option("--no-browser", help="Do not open a browser.")] = False,
    as_json: Json = False,
) -> None:
    """Serve pages about runs until Ctrl-C.

    They show curves, groups, episodes, trajectory graphs, credit and system data.
    """
    from cairn.viewer.serving import serve

    def announce(url: str, num_runs: int) -> None:
        if as_json:
            show_json({"url": url, "runs": num_runs})
        else:
            typer.echo(f"{num_runs} run{'s' if num_runs > 1 else ''} at {url} (Ctrl-C ends)")

    serve(runs, host=host, port=port, token=token, announce=announce, opens_browser=not (no_browser or as_json))
