"""Reads large JSON files item by item: arrays or objects, plain or gzipped.

Memory is bounded by the largest item. A truncated or malformed file raises an error with its name and line.
"""

from __future__ import annotations

import gzip
import json
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

from cairn.core.errors import CairnError

_CHUNK = 1 << 20
MAX_ITEM = 1 << 26  # characters of one item
_NUMBER_TAIL = 3  # characters; "1e+" parses as 1 while the rest of the number is still unread
_SPACE = " \t\r\n"
_decoder = json.JSONDecoder()


def items(path: Path) -> Iterator[Any]:  # Any: JSON
    """Yield the items of a JSON array.

    Raises:
        CairnError: the file is not an array, is malformed or truncated.
    """
    scan = _Scan(path)
    with scan:
        scan.expect("[")
        is_end = scan.take("]")
        while not is_end:
            yield scan.value()
            is_end = scan.take("]")
            if not is_end:
                scan.expect(",")
        scan.end()


def pairs(path: Path) -> Iterator[tuple[str, Any]]:  # Any: JSON
    """Yield the names and values of a JSON object.

    Raises:
        CairnError: the file is not an object, is malformed or truncated.
    """
    scan = _Scan(path)
    with scan:
        scan.expect("{")
        is_end = scan.take("}")
        while not is_end:
            name = scan.value()
            if not isinstance(name, str):
                raise scan.error(f"expected a name, got {name!r:.40}")
            scan.expect(":")
            yield name, scan.value()
            is_end = scan.take("}")
            if not is_end:
                scan.expect(",")
        scan.end()


class _Scan:
    """A position in a file and the text read ahead of it."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._file: IO[str] = (
            gzip.open(path, "rt", encoding="utf-8")  # noqa: SIM115  (closed by __exit__)
            if path.suffix == ".gz"
            else path.open(encoding="utf-8")
        )
        self._text = ""
        self._at = 0
        self._line = 1
        self._is_end = False

    def __enter__(self) -> _Scan:
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()

    def take(self, mark: str) -> bool:
        """Consume `mark` if it comes next; return whether it did."""
        self._skip_space()
        if self._text[self._at : self._at + 1] != mark:
            return False
        self._at += 1
        return True

    def expect(self, mark: str) -> None:
        """Consume `mark`, which must come next."""
        if not self.take(mark):
            found = self._text[self._at : self._at + 20]
            raise self.error(f"expected {mark!r}, got {found!r}" if found else f"it ends where {mark!r} was expected")

    def end(self) -> None:
        """Read to the end of the file; only white space may follow."""
        self._skip_space()
        if self._at < len(self._text):
            raise self.error(f"expected the end, got {self._text[self._at : self._at + 20]!r}")

    def value(self) -> Any:  # Any: JSON
        """Consume and return the next value."""
        self._skip_space()
        while True:
            try:
                value, end = _decoder.raw_decode(self._text, self._at)
            except RecursionError:
                raise self.error("an item is nested too deeply") from None
            except ValueError as error:  # malformed, or a number of thousands of digits
                if not self._more():
                    raise self.error(f"cut short or malformed: {getattr(error, 'msg', error)}") from None
                continue
            if len(self._text) - end < _NUMBER_TAIL and self._more():
                continue  # a number may continue in the next chunk
            self._count_lines(end)
            self._at = end
            return value

    def error(self, what: str) -> CairnError:
        """Return an error that names the file and the line."""
        return CairnError(f"{str(self._path)!r}, line {self._line}: {what}. Fetch the file again.")

    def _skip_space(self) -> None:
        while True:
            start = self._at
            while self._at < len(self._text) and self._text[self._at] in _SPACE:
                self._at += 1
            self._line += self._text.count("\n", start, self._at)
            if self._at < len(self._text) or not self._more():
                return

    def _count_lines(self, end: int) -> None:
        self._line += self._text.count("\n", self._at, end)

    def _more(self) -> bool:
        """Read the next chunk; return whether there was one."""
        if self._is_end:
            return False
        if len(self._text) - self._at > MAX_ITEM:
            raise self.error(f"one item is longer than {MAX_ITEM} characters")
        try:
            chunk = self._file.read(max(_CHUNK, len(self._text) - self._at))
        except (OSError, EOFError, UnicodeDecodeError, zlib.error) as error:
            raise self.error(f"cannot be read: {error}") from None
        self._is_end = not chunk
        if chunk:
            self._text, self._at = self._text[self._at :] + chunk, 0
        return bool(chunk)
