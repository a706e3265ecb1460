"""Output of commands: a table for people, or JSON for programs."""

from __future__ import annotations

import json
import math
import shutil
import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from shlex import quote
from typing import Annotated, Any

import typer

Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]
Settings = Annotated[list[str], typer.Option("--set", metavar="KEY=VALUE", help="A setting; may be given again.")]
AgentSettings = Annotated[
    list[str], typer.Option("--agent-set", metavar="KEY=VALUE", help="A setting of the agent; may be given again.")
]

_ANY_WIDTH = 10_000  # characters; wider than any row


def show_json(value: Any) -> None:  # Any: any JSON value
    """Print `value` as strict JSON: NaN and infinities, which JSON lacks, become null."""
    typer.echo(json.dumps(_finite(value), indent=2, allow_nan=False))


def _finite(value: Any) -> Any:  # Any: as above
    if isinstance(value, Mapping):
        return {key: _finite(each) for key, each in value.items()}
    if isinstance(value, (list, tuple)):
        return [_finite(each) for each in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def show_table(columns: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    """Print a table of plain-text cells; outside a terminal, each row stays on one line."""
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(*columns, box=None, pad_edge=False, header_style="bold")
    for row in rows:
        table.add_row(*map(Text, row))
    console = Console()
    if not console.is_terminal:
        console = Console(width=_ANY_WIDTH)
    console.print(table)


def program(name: str) -> str:
    """Return the shell command of a program installed beside this one: its name, or its path."""
    beside = Path(sys.argv[0]).with_name(name)
    return quote(str(beside)) if shutil.which(name) is None and beside.is_file() else name
