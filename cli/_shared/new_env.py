"""Writes a new environment from templates: into a Cairn checkout or the current folder."""

from __future__ import annotations

import re
import tomllib
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from string import Template

from cairn.core.errors import CairnError

_NAME = re.compile(r"[a-z][a-z0-9]*(-[a-z0-9]+)*")


@dataclass(frozen=True)
class Created:
    """The written files, and the next commands to run."""

    files: list[Path]
    next_steps: list[str]


def write(name: str, folder: Path | None = None) -> Created:
    """Write the files of environment `name` into `folder` (default: the current one).

    Raises:
        CairnError: the name is invalid, or a file exists.
    """
    if not _NAME.fullmatch(name):
        raise CairnError(
            f"An environment's name is lower case words joined by hyphens, such as ticket-desk; got {name!r}"
        )
    folder = folder or Path.cwd()
    module = name.replace("-", "_")
    class_name = "".join(part.capitalize() for part in name.split("-"))
    if _is_checkout(folder):
        check, texts = name, _checkout_files(name, module)
        test, pages = f"tests/envs/test_{module}.py", [f"add envs/{name}.md to nav in zensical.toml", "make docs"]
    else:
        check, texts = f"{module}:{class_name}", _plain_files(module)
        test, pages = f"test_{module}.py", []
    _refuse_overwriting([folder / path for path in texts])
    for path, template in texts.items():
        target = folder / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(_fill(template, name, class_name, check), encoding="utf-8")
    return Created([Path(path) for path in texts], [f"cairn envs check {check}", f"python -m pytest {test}", *pages])


def _checkout_files(name: str, module: str) -> dict[str, str]:
    """Map the path of each file to its template."""
    return {
        f"envs/{module}/__init__.py": "",
        f"envs/{module}/env.py": "env.py.txt",
        f"tests/envs/test_{module}.py": "test_env.py.txt",
        f"docs/envs/{name}.md": "env.md.txt",
    }


def _plain_files(module: str) -> dict[str, str]:
    return {f"{module}.py": "env.py.txt", f"test_{module}.py": "test_env.py.txt", f"{module}.md": "env.md.txt"}


def _fill(template: str, name: str, class_name: str, check: str) -> str:
    if not template:
        return f'"""The environment "{name}"."""\n'
    text = files("cairn.cli").joinpath("templates", template).read_text(encoding="utf-8")
    return Template(text).substitute(name=name, class_name=class_name, check=check)


def _is_checkout(folder: Path) -> bool:
    """Return whether `folder` is the root of Cairn's own repository."""
    project = folder / "pyproject.toml"
    try:
        return bool(tomllib.loads(project.read_text(encoding="utf-8"))["project"]["name"] == "cairn-rl")
    except (OSError, KeyError, tomllib.TOMLDecodeError):  # no project here, or another one
        return False


def _refuse_overwriting(paths: list[Path]) -> None:
    there = [str(path) for path in paths if path.exists()]
    if there:
        raise CairnError(f"Refusing to overwrite {', '.join(there)}; choose another name or move it away")
