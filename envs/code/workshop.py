"""A work folder in a sandbox, and the tools that act on it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from cairn.core.text import shorten
from cairn.envs.code.actions import CodeCall
from cairn.sandboxes.base import FileRefused, Session
from cairn.sandboxes.interpreter import Interpreter, OnCall
from cairn.sandboxes.records import Result

_RUNNER = """
import sys, traceback
sys.path.insert(0, "")
names = {"__name__": "tests"}
text = open(PATH).read()
exec(compile(text, PATH, "exec"), names)
failed = 0
for name, test in list(names.items()):
    if name.startswith("test") and callable(test):
        try:
            test()
            print(name, "passed")
        except Exception:  # a test of the agent's failed, however it did
            failed += 1
            print(name, "FAILED")
            print("".join(traceback.format_exc().splitlines(keepends=True)[3:]))
print("all passed" if not failed else f"{failed} failed")
"""


class Workshop:
    """The tools of one episode."""

    def __init__(self, session: Session, files: Mapping[str, str], visible: str | None, most_chars: int) -> None:
        """Write the files into an empty session; `visible`: the file of tests for the agent."""
        self.session, self._visible, self._most_chars = session, visible, most_chars
        self.interpreter = Interpreter(session)
        for path, text in files.items():
            session.write_file(path, text)

    def connect(self, prelude: str, on_call: OnCall) -> None:
        """Start an interpreter with a prelude whose calls go to `on_call`."""
        self.interpreter = Interpreter(self.session, prelude, on_call)

    def use(self, call: CodeCall) -> str:
        """Carry out a call of any tool but `submit`, and return its output, shortened.

        Raises:
            SandboxFailure: the sandbox failed, not because of the program.
        """
        tool: Callable[..., str] = getattr(self, f"_{call.tool}")
        try:
            return shorten(tool(**call.arguments), self._most_chars)
        except FileRefused as refused:
            return str(refused)

    def _run_python(self, code: str) -> str:
        cell = self.interpreter.run(code)
        parts = [cell.stdout.decode("utf-8", "replace"), cell.stderr.decode("utf-8", "replace")]
        if cell.limit is not None:
            parts.append(f"[limit reached: {cell.limit}]")
        elif cell.error is not None and not cell.stderr:
            parts.append(cell.error)
        return "".join(parts) or "(no output)"

    def _shell(self, command: str) -> str:
        return _shown(self.session.run(["sh", "-c", command]))

    def _write_file(self, path: str, content: str) -> str:
        self.session.write_file(path, content)
        return f"wrote {path}, {len(content.splitlines())} lines"

    def _edit_file(self, path: str, old: str, new: str) -> str:
        text = self.session.read_file(path).decode("utf-8", "surrogateescape")
        count = text.count(old)
        if count != 1:
            return f"{path}: the text to replace occurs {count} times; it must occur exactly once"
        self.session.write_file(path, text.replace(old, new))
        return f"edited {path}"

    def _read_file(self, path: str, first: int = 1, last: int | None = None) -> str:
        lines = self.session.read_file(path).decode("utf-8", "replace").splitlines(keepends=True)
        return "".join(lines[first - 1 : last]) or "(empty)"

    def _list_files(self) -> str:
        entries = self.session.list_files()
        return "\n".join(f"{e.path}  {e.size} bytes" if e.kind == "file" else f"{e.path}/" for e in entries) or "(none)"

    def _run_tests(self) -> str:
        if self._visible is None:
            return "This task shows no tests."
        return _shown(self.session.run_python(f"PATH = {self._visible!r}\n{_RUNNER}"))


def _shown(result: Result) -> str:
    notes: list[Any] = []
    if result.limit is not None:
        notes.append(f"[limit reached: {result.limit}]")
    elif result.exit_code is None:
        notes.append(f"[ended by signal {result.signal}]")
    elif result.exit_code:
        notes.append(f"[exit status {result.exit_code}]")
    return "\n".join(part for part in (result.output.rstrip("\n"), *notes) if part) or "(no output)"
