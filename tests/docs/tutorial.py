"""Runs a page as a reader would: every fenced block of it, in order, in one folder.

==========================  ========================================================================================
``sh``                      run by bash, stopped at the first command that fails; its exports hold from then on
``python``, ``toml``, ...   with ``title="FILE"``: written to FILE
``python``                  without a title: run by this interpreter
``text``                    the output of the block above it; ``...`` is anything or nothing, all white space is alike
==========================  ========================================================================================

Any other block is an error, so that nothing on a page can be left out. Processes that a page leaves running are ended.
"""

from __future__ import annotations

import os
import re
import shlex
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from markdown_it import MarkdownIt

from tests.safety import without_pytest

_KEPT = ".exported"  # in the page's folder: the variables that its commands have exported
_FRAME = '[ -f "$1" ] && . "./$1"; {block}\nexport -p > "$1"\n'


@dataclass(frozen=True, kw_only=True)
class Block:
    """A fenced block of a page."""

    line: int  # of its first fence, from 1
    language: str
    title: str  # the file that it is; "": none
    text: str


class PageError(AssertionError):
    """A statement of a page is wrong."""


def blocks(page: Path) -> list[Block]:
    """Return the blocks of a page, those in lists and quotes too.

    Raises:
        PageError: a block is indented instead of fenced.
    """
    found = []
    for token in MarkdownIt().parse(page.read_text(encoding="utf-8")):
        line = (token.map or [0])[0] + 1
        if token.type == "code_block":
            raise PageError(f"{page.name}:{line}: code stands between fences on a page, not indented")
        if token.type == "fence":
            language, *options = shlex.split(token.info) or [""]
            settings = dict(option.partition("=")[::2] for option in options)
            found.append(Block(line=line, language=language, title=settings.get("title", ""), text=token.content))
    return found


def run_page(page: Path, folder: Path) -> None:
    """Follow a page in an empty folder.

    Raises:
        PageError: a command fails, prints something else, or a block is of no known kind.
    """
    printed: str | None = None
    started: list[int] = []
    try:
        for block in blocks(page):
            where = f"{page.name}:{block.line}"
            if block.language == "text":
                _compare(block.text, printed, where)
                printed = None
            elif block.title:
                _write(block, folder, where)
                printed = None
            else:
                printed = _run(_command(block, where), block.text, folder, where, started)
    finally:
        _end(started)


def _command(block: Block, where: str) -> list[str]:
    if block.language == "sh":
        return ["bash", "-eu", "-c", _FRAME.format(block=block.text), "tutorial", _KEPT]
    if block.language == "python":
        return [sys.executable, "-"]
    raise PageError(f'{where}: a block is sh, python or text, or has title="FILE"; got {block.language!r}')


def _write(block: Block, folder: Path, where: str) -> None:
    target = (folder / block.title).resolve()
    if not target.is_relative_to(folder.resolve()):
        raise PageError(f"{where}: {block.title!r} is outside the page's folder")
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text(block.text, encoding="utf-8")


def _run(command: list[str], text: str, folder: Path, where: str, started: list[int]) -> str:
    """Run a block in a process group of its own and return its output, errors included."""
    with (folder / ".printed").open("w+", encoding="utf-8") as out:  # a file: background processes do not hold it open
        with subprocess.Popen(
            command, cwd=folder, env=_variables(), stdin=subprocess.PIPE, stdout=out, stderr=out, start_new_session=True
        ) as process:
            started.append(process.pid)
            process.communicate(text.encode() if command[-1] == "-" else b"")
        out.seek(0)
        printed = out.read()
    if process.returncode:
        raise PageError(f"{where}: ended with status {process.returncode}\n{text}\n{printed}")
    return printed


def _variables() -> dict[str, str]:
    """Return the environment with this interpreter's commands first, without the variables of pytest."""
    own = without_pytest()
    return {**own, "PATH": f"{Path(sys.executable).parent}{os.pathsep}{own['PATH']}", "COLUMNS": "120"}


def _compare(expected: str, printed: str | None, where: str) -> None:
    if printed is None:
        raise PageError(f"{where}: nothing above this text has printed anything")
    parts = (r"\s+".join(map(re.escape, part.split())) for part in expected.split("..."))
    if not re.fullmatch(r"\s*" + r".*".join(parts) + r"\s*", printed, re.DOTALL):
        raise PageError(f"{where}: expected\n{expected}\nwas printed\n{printed}")


def _end(groups: list[int]) -> None:
    for group in groups:
        with suppress(ProcessLookupError):  # the rule: nothing of it is left
            os.killpg(group, signal.SIGKILL)


def pages(folder: Path) -> Iterator[Path]:
    """Give the tutorials of a folder; `index.md` only lists them."""
    yield from (page for page in sorted(folder.glob("*.md")) if page.name != "index.md")
