"""Writes docs/envs/gui-tasks.md: browser tasks with examples, and MiniWoB++'s pages."""

from __future__ import annotations

_HEAD = """# Tasks in the browser

Written by `make docs`. Environments and settings: [gui.md](gui.md).

## Web applications

`gui/apps`; those that need the mail alone are `gui/apps-mail`. A task id is `TEMPLATE/SEED`; the example is of seed 0.
Level 1: one page; 2: a search or two pages; 3: several things or steps.

| template | tier | level | applications | example |
|---|---|---|---|---|
"""


_MINIWOB = """
## MiniWoB++

`gui/miniwob`; a task id is `PAGE/SEED`. A turn is a second. Where there is no solver, the oracle waits.

| page | seconds | solver |
|---|---|---|
"""
_LEFT_OUT = """
Pages of the package that are not played:

| page | why |
|---|---|
"""


def page() -> str:
    """Return the page.

    Raises:
        MissingExtraError: `miniwob` is not installed.
    """
    return _apps() + _miniwob()


def _apps() -> str:
    from cairn.envs.gui.tasks import make_task, templates

    rows = []
    for name, each in templates().items():
        example = _cell(make_task(name, 0).instruction)
        rows.append(f"| `{name}` | {each.tier} | {each.level} | {', '.join(each.apps)} | {example} |\n")
    return _HEAD + "".join(rows)


def _miniwob() -> str:
    from cairn.envs.gui.miniwob.pages import LEFT_OUT, pages, seconds
    from cairn.envs.gui.miniwob.solvers import solvers

    rows = [f"| `{name}` | {seconds(name)} | {'yes' if name in solvers() else 'no'} |\n" for name in pages()]
    left_out = [f"| `{name}` | {_cell(why)} |\n" for name, why in LEFT_OUT.items()]
    return _MINIWOB + "".join(rows) + _LEFT_OUT + "".join(left_out)


def _cell(text: str) -> str:
    for special in "\\|<>*_`[]":
        text = text.replace(special, f"\\{special}")
    return " ".join(text.split())
