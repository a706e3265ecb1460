"""Paraphrases of coding tasks: other names for tools, and another order of tools and files."""

from __future__ import annotations

from collections.abc import Callable

from cairn.envs.paraphrase import framed

_TASK = "\nTask: "  # the text before it describes the tools and stays unchanged
COMMANDS: dict[str, tuple[str, ...]] = {
    "run_python": ("execute_python", "python_cell"),
    "shell": ("terminal", "bash_command"),
    "write_file": ("save_file", "put_file"),
    "edit_file": ("modify_file", "patch_file"),
    "read_file": ("show_file", "view_file"),
    "list_files": ("show_files", "file_listing"),
    "run_tests": ("check_tests", "try_tests"),
    "submit": ("hand_in", "finish_task"),
}
_USAGE, _FILES = "Actions, one a turn, ", "Files:"  # the first words of the introduction's lists


def reworded(own: str) -> tuple[str, ...]:
    """Return paraphrases of a task's instruction."""
    before, mark, task = own.rpartition(_TASK)
    return tuple(f"{before}{mark}{text}" for text in framed(task))


def rename_usage(text: str, rename: Callable[[str], str]) -> str:
    """Return an introduction with `rename` applied to the names in the list of tools."""
    before, tools, after = _parts(text, _USAGE)
    forms = [line.partition(": ") for line in tools]
    return "\n".join([*before, *(f"{rename(form)}{colon}{about}" for form, colon, about in forms), *after])


def shuffle_introduction(text: str, shuffle: Callable[[list[str]], list[str]]) -> str:
    """Return an introduction with its tools and its files shuffled."""
    for begins in (_USAGE, _FILES):
        before, listed, after = _parts(text, begins)
        text = "\n".join([*before, *shuffle_lines(listed, shuffle), *after])
    return text


def shuffle_lines(lines: list[str], shuffle: Callable[[list[str]], list[str]]) -> list[str]:
    """Shuffle a list, unless it was shortened."""
    return lines if any(line.startswith("[... ") for line in lines) else shuffle(lines)


def _parts(text: str, begins: str) -> tuple[list[str], list[str], list[str]]:
    """Split a text into its head, a list and the rest.

    The head ends with the last line that starts with `begins`; the list ends before the next empty line.
    """
    lines = text.split("\n")
    first = max((at for at, line in enumerate(lines) if line.startswith(begins)), default=len(lines) - 1) + 1
    last = next((at for at in range(first, len(lines)) if not lines[at]), len(lines))
    return lines[:first], lines[first:last], lines[last:]
