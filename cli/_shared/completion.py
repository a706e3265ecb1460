"""Shell completion of argument and option values; Typer completes commands and option names.

One table for all commands, by parameter name, so that a new command with an environment completes environments. Runs
only when a shell asks (it sets `ASKED`), and imports nothing slow: ids are file names.
"""

from __future__ import annotations

import pkgutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from cairn.core import plugins
from cairn.core.plugins import package_folders

ASKED = "_CAIRN_COMPLETE"  # set by the scripts of `cairn --install-completion`
_SCRIPTED = ("constant:", "human", "openai:", "oracle", "random", "replay:")

Completer = Callable[[str], list[str]]  # the text typed so far -> its completions


def environments(_: str) -> list[str]:
    """Return the ids of environments."""
    return plugins.ENVS.ids()


def credits_(_: str) -> list[str]:
    """Return the ids of credit methods."""
    return plugins.CREDITS.ids()


def sandboxes(_: str) -> list[str]:
    """Return the kinds of sandboxes."""
    return plugins.SANDBOXES.ids()


def points(_: str) -> list[str]:
    """Return the names of extension points."""
    return [point.name for point in plugins.POINTS]


def benchmarks(_: str) -> list[str]:
    """Return the names of benchmarks."""
    return [
        module.name for module in pkgutil.iter_modules(map(str, package_folders("cairn.benchmarks"))) if module.ispkg
    ]


def configurations(typed: str) -> list[str]:
    """Return the runs that ship with Cairn, and TOML files."""
    shipped = _shipped("runs")
    return [*sorted(shipped), *_beside(typed, lambda path: path.suffix == ".toml")]


def panels(typed: str) -> list[str]:
    """Return the panels that ship with Cairn, and TOML files."""
    shipped = _shipped("panels")
    return [*sorted(shipped), *_beside(typed, lambda path: path.suffix == ".toml")]


def runs(typed: str) -> list[str]:
    """Return folders of runs: those in ``runs/``, and those below the typed folder."""
    is_run = [str(path) for path in sorted(Path("runs").glob("*")) if _is_run(path)]
    return list(dict.fromkeys([*is_run, *_beside(typed, _is_run)]))


def agents(typed: str) -> list[str]:
    """Return agents: scripted ones, and folders of runs."""
    return [*_SCRIPTED, *runs(typed)]


def players(typed: str) -> list[str]:
    """Return players in the terminal: you, and agents."""
    return ["you", *agents(typed)]


COMPLETERS: dict[str, Completer] = {  # by parameter, or by "command.parameter" for a single command
    "agent": agents,
    "bench.name": benchmarks,
    "config": configurations,
    "credit.compare": credits_,
    "credit.method": credits_,
    "env": environments,
    "envs check.name": environments,
    "envs list.name": environments,
    "envs record.name": environments,
    "envs serve.name": environments,
    "kind": sandboxes,
    "panel": panels,
    "panels list.name": panels,
    "play.agent": players,
    "point": points,
    "resume": runs,
    "run": runs,
}


def attach(command: Any, path: str = "") -> None:  # Any: Click's command, which Typer does not export
    """Add completion to the parameters of a command and of its sub-commands."""
    for parameter in command.params:
        completer = COMPLETERS.get(f"{path}.{parameter.name}") or COMPLETERS.get(parameter.name)
        if completer is not None:
            parameter._custom_shell_complete = _for_click(completer)  # the attribute that `autocompletion=` sets
    for name, below in getattr(command, "commands", {}).items():
        attach(below, f"{path} {name}".strip())


def _for_click(completer: Completer) -> Callable[[Any, Any, str], list[str]]:  # Any: context and parameter, unused
    return lambda _, __, typed: [each for each in completer(typed) if each.startswith(typed)]


def _shipped(kind: str) -> list[str]:
    """Return the names of configurations that ship with Cairn."""
    return [file.stem for folder in package_folders("cairn.configs") for file in (folder / kind).glob("*.toml")]


def _is_run(path: Path) -> bool:
    return (path / "run.sqlite").is_file()


def _beside(typed: str, is_wanted: Callable[[Path], bool]) -> Iterator[str]:
    """Yield matching paths in the typed folder, and its sub-folders."""
    start = typed[: typed.rfind("/") + 1]
    for path in sorted(Path(start).glob("*")) if Path(start).is_dir() else ():
        if is_wanted(path):
            yield f"{start}{path.name}"
        elif path.is_dir() and not path.name.startswith("."):
            yield f"{start}{path.name}/"
