"""`cairn sandbox`: serve this machine's sandboxes to others."""

from __future__ import annotations

import json
from typing import Annotated

import typer

from cairn.cli._shared.output import Json, Settings

commands = typer.Typer(no_args_is_help=True)


@commands.callback()
def _group() -> None:
    """Keep `serve` a sub-command, although it is the only one."""


def register(app: typer.Typer) -> None:
    """Add the commands to the application."""
    app.add_typer(commands, name="sandbox", help="Serve sandboxes to other machines.")


@commands.command()
def serve(
    kind: Annotated[str, typer.Option(help="Kind of sandbox: bubblewrap, landlock, docker, ...")] = "bubblewrap",
    host: Annotated[str, typer.Option(help="Address to listen on; 0.0.0.0: all of this machine's.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535, help="Where to listen; 0: any free port.")] = 8600,
    token_file: Annotated[
        str | None, typer.Option(help="File with the token that clients must know; else CAIRN_SANDBOX_TOKEN holds it.")
    ] = None,
    sessions: Annotated[int, typer.Option(min=1, help="Sessions at once.")] = 32,
    idle_s: Annotated[
        float, typer.Option(min=1, help="Seconds without a request after which a session is closed.")
    ] = 900,
    max_body_mib: Annotated[int, typer.Option(min=1, help="Size of a request.")] = 128,
    most: Annotated[
        list[str], typer.Option("--most", metavar="LIMIT=VALUE", help="The most of a limit that a session may ask for.")
    ] = [],
    settings: Settings = [],
    as_json: Json = False,
) -> None:
    """Serve sandboxes over HTTP until Ctrl-C; clients use the kind `remote`."""
    from cairn.core.config import build, parse_flags
    from cairn.core.errors import CairnError
    from cairn.sandboxes.registry import new_sandbox
    from cairn.sandboxes.remote.protocol import token
    from cairn.sandboxes.remote.server import SandboxServerConfig, serve

    if kind == "remote":
        raise CairnError("--kind remote: expected a kind of this machine; clients can ask the other server themselves")
    config = build(
        SandboxServerConfig,
        {"sessions": sessions, "idle_s": idle_s, "max_body_mib": max_body_mib, "most": parse_flags(most)},
        "sandbox server",
    )
    sandbox = new_sandbox(kind, **parse_flags(settings))

    def announce(url: str) -> None:
        message = f"{kind} sandboxes are at {url} (Ctrl-C stops it)"
        typer.echo(json.dumps({"kind": kind, "url": url}) if as_json else message)

    serve(sandbox, token(None, token_file), config, host, port, announce)
