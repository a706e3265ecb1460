"""Random access to the lines of a gzip file.

The file is decompressed once to index it; reading one line then takes a few milliseconds. The compressed bytes stay in
memory, with a copy of the decompressor at the start of every block: about 25 MB for a 190 MB split of games. Files with
several gzip members are not supported; a line may have at most `MAX_LINE` bytes.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable
from pathlib import Path

from cairn.core.errors import CairnError

BLOCK = 1 << 16  # compressed bytes between two copies of the decompressor
MAX_LINE = 1 << 22
_GZIP = 16 + zlib.MAX_WBITS


class LineArchive:
    """The lines of one gzip file, by number."""

    def __init__(self, path: Path, on_line: Callable[[bytes], None]) -> None:
        """Read the whole file; `on_line` is called once with every line, in order.

        Raises:
            CairnError: the file is damaged or a line is too long.
        """
        self.path = path
        self._data = path.read_bytes()
        self._decompressors: list[zlib._Decompress] = []  # [blocks] state before each block
        self._places: list[tuple[int, int]] = []  # [lines] (block, offset in the block's text) of each line's start
        try:
            self._index(on_line)
        except zlib.error as error:
            raise CairnError(f"Cannot read {str(path)!r}: {error}. Fetch the file again.") from None

    def __len__(self) -> int:
        return len(self._places)

    def line(self, number: int) -> bytes:
        """Return one line without its newline."""
        block, offset = self._places[number]
        decompressor = self._decompressors[block].copy()
        text = self._block(decompressor, block)[offset:]
        while b"\n" not in text and block + 1 < len(self._decompressors):
            block += 1
            text += self._block(decompressor, block)
        return text.partition(b"\n")[0]

    def _block(self, decompressor: zlib._Decompress, block: int) -> bytes:
        return decompressor.decompress(self._data[block * BLOCK : (block + 1) * BLOCK])

    def _index(self, on_line: Callable[[bytes], None]) -> None:
        decompressor = zlib.decompressobj(_GZIP)
        pending, place = b"", (0, 0)
        for block in range((len(self._data) + BLOCK - 1) // BLOCK):
            self._decompressors.append(decompressor.copy())
            text = self._block(decompressor, block)
            start = 0
            while (end := text.find(b"\n", start)) >= 0:
                self._add(pending + text[start:end], place, on_line)
                pending, start = b"", end + 1
                place = (block, start)
            pending += text[start:]
            if len(pending) > MAX_LINE:
                raise CairnError(f"{str(self.path)!r}: line {len(self._places) + 1} is longer than {MAX_LINE} bytes")
        if not decompressor.eof or decompressor.unused_data:
            raise CairnError(
                f"{str(self.path)!r} is cut short or holds more than one gzip member. Fetch the file again."
            )
        self._add(pending, place, on_line)

    def _add(self, line: bytes, place: tuple[int, int], on_line: Callable[[bytes], None]) -> None:
        if line.strip():
            self._places.append(place)
            on_line(line)
