"""The command `cairn`: one sub-command per file of this folder.

Each of these files exports ``register(app)``.

Those files import heavy modules inside their functions, so that ``cairn --help`` stays fast. An invalid request ends
with one line and exit status 2, never with a traceback.
"""

from __future__ import annotations

import importlib
import os
import pkgutil
import sys
import warnings
from pathlib import Path
from typing import Any, NoReturn

import typer
from typer.core import TyperGroup

from cairn.cli._shared import completion
from cairn.cli._shared.environment_fault import environment_fault
from cairn.core.errors import CairnError, CairnWarning


class _Commands(TyperGroup):
    """Reports a `CairnError` or a fault of an environment in one line.

    Adds the current folder to the import path, so that dotted paths may name modules there.
    """

    def __init__(self, **settings: Any) -> None:  # Any: Typer's
        super().__init__(**settings)
        if completion.ASKED in os.environ:
            completion.attach(self)

    def invoke(self, ctx: Any) -> Any:  # Any: Click's context, which Typer does not export
        if os.getcwd() not in sys.path:
            sys.path.append(os.getcwd())  # last, so that no file there can shadow an installed package
        with warnings.catch_warnings():
            warnings.simplefilter("once", CairnWarning)
            warnings.showwarning = _show_warning
            try:
                return super().invoke(ctx)
            except CairnError as error:
                _refuse(str(error))
            except (Exception, SystemExit) as error:  # of an environment's code; any other is raised again
                if (fault := environment_fault(error)) is None:
                    raise
                _refuse(fault)


def _refuse(message: str) -> NoReturn:
    typer.secho(f"cairn: {message}", fg="red", err=True)
    raise typer.Exit(2) from None


def _show_warning(message: Warning | str, category: type[Warning], *_: Any, **__: Any) -> None:  # Any: place, file
    """Print a warning on standard error, without its place in the code."""
    kind = "" if issubclass(category, CairnWarning) else f"{category.__name__}: "
    typer.secho(f"cairn: warning: {kind}{message}", fg="yellow", err=True)


def build() -> typer.Typer:
    """Return the application with every command of this folder."""
    built = typer.Typer(
        cls=_Commands,
        help="Environments, step-level credit and training for multi-turn agents.",
        no_args_is_help=True,
        pretty_exceptions_enable=False,
        rich_markup_mode=None,  # plain help: the styled one imports a Markdown renderer, a third of the start-up time
    )
    for module in pkgutil.iter_modules([str(Path(__file__).parent)]):
        if not module.name.startswith("_") and module.name != "main":
            importlib.import_module(f"cairn.cli.{module.name}").register(built)
    return built


app = build()
