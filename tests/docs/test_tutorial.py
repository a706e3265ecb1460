"""Wrong statements of pages are caught, and processes that pages leave running are ended."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from tests.docs.tutorial import PageError, blocks, pages, run_page
from tests.processes import has_ended


def page(tmp_path: Path, *fenced: tuple[str, str]) -> Path:
    """Write a page with these blocks: the info string of the fence, and the text."""
    path = tmp_path / "page.md"
    path.write_text("# Title\n\n" + "\n".join(f"```{info}\n{text}\n```\n" for info, text in fenced))
    return path


def follow(tmp_path: Path, *fenced: tuple[str, str]) -> Path:
    folder = tmp_path / "folder"
    folder.mkdir()
    run_page(page(tmp_path, *fenced), folder)
    return folder


def test_files_are_written_and_programs_see_them(tmp_path: Path) -> None:
    written = ('python title="answer.py"', "ANSWER = 42")
    used = ("python", "import answer\nprint(answer.ANSWER)")
    folder = follow(tmp_path, written, used, ("text", "42"), ("sh", "cat answer.py"), ("text", "ANSWER = 42"))
    assert (folder / "answer.py").read_text() == "ANSWER = 42\n"


def test_commands_are_of_this_interpreter(tmp_path: Path) -> None:
    follow(tmp_path, ("sh", 'python -c "import sys; print(sys.executable)"'), ("text", sys.executable))


def test_exported_variables_hold_for_later_blocks(tmp_path: Path) -> None:
    follow(tmp_path, ("sh", "export PLACE='a b'"), ("sh", 'echo "$PLACE"'), ("text", "a b"))


def test_dots_match_any_text(tmp_path: Path) -> None:
    follow(tmp_path, ("sh", "echo one; echo 2 two; echo 3"), ("text", "one\n... two\n3"))


def test_dots_match_no_text(tmp_path: Path) -> None:
    follow(tmp_path, ("sh", "echo one; echo two"), ("text", "one\n...\ntwo\n..."))


WRONG = {
    "other output": [("sh", "echo one"), ("text", "two")],
    "more output": [("sh", "echo one; echo two"), ("text", "one")],
    "less output": [("sh", "echo one"), ("text", "one\n...\ntwo")],
    "output that is a pattern": [("sh", "echo one"), ("text", "o.e")],
    "output of a file": [('toml title="a.toml"', "a = 1"), ("text", "one")],
    "output shown twice": [("sh", "echo one"), ("text", "one"), ("text", "one")],
    "a command that fails": [("sh", "false")],
    "a command that fails before another": [("sh", "false\ntrue")],
    "a variable that is not there": [("sh", 'echo "$NO_SUCH_VARIABLE"')],
    "a program that fails": [("python", "raise SystemExit(3)")],
    "a file without a name": [("toml", "a = 1")],
    "a block that nobody runs": [("console", "echo one")],
    "a block of no language": [("", "echo one")],
    "a file elsewhere": [('python title="../a.py"', "")],
}


@pytest.mark.parametrize("fenced", WRONG.values(), ids=WRONG.keys())
def test_a_wrong_page_is_caught(tmp_path: Path, fenced: list[tuple[str, str]]) -> None:
    with pytest.raises(PageError, match=r"page\.md:\d+: "):
        follow(tmp_path, *fenced)


def test_indented_code_is_refused(tmp_path: Path) -> None:
    (tmp_path / "page.md").write_text("# Title\n\n    echo one\n")
    with pytest.raises(PageError, match=r"page\.md:3: code stands between fences"):
        blocks(tmp_path / "page.md")


def test_processes_that_a_page_leaves_running_are_ended(tmp_path: Path) -> None:
    folder = follow(tmp_path, ("sh", "sleep 1000 &\necho $! > process"))
    assert has_ended(int((folder / "process").read_text()))


def test_the_index_is_not_a_tutorial(tmp_path: Path) -> None:
    for name in ("index.md", "b.md", "a.md"):
        (tmp_path / name).touch()
    assert [found.name for found in pages(tmp_path)] == ["a.md", "b.md"]
