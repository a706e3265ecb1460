"""docs/envs/gui-tasks.md: every kind of task in the browser, with an example."""

from __future__ import annotations

_HEAD = """# Tasks in the browser

Written by `make docs`. Environments and settings: [gui.md](gui.md).

## Web applications

`gui/apps`; those that need the mail alone are `gui/apps-mail`. A task id is `TEMPLATE/SEED`; the example is of seed 0.
Level 1: one page; 2: a search or two pages; 3: several things or steps.

| template | tier | level | applications | example |
|---|---|---|---|---|
"""


def page() -> str:
    """Return the page."""
    from cairn.envs.gui.tasks import make_task, templates

    rows = []
    for name, each in templates().items():
        example = _cell(make_task(name, 0).instruction)
        rows.append(f"| `{name}` | {each.tier} | {each.level} | {', '.join(each.apps)} | {example} |\n")
    return _HEAD + "".join(rows)


def _cell(text: str) -> str:
    for special in "\\|<>*_`[]":
        text = text.replace(special, f"\\{special}")
    return " ".join(text.split())
