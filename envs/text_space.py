"""The space of texts, and its shared memory in Gymnasium's asynchronous vector environments.

The shared memory has a block of fixed size for each environment: a length and up to 64 KiB of UTF-8.
"""

from __future__ import annotations

import multiprocessing
from collections.abc import Iterator, Sequence
from typing import Any, overload

import gymnasium
import numpy as np
import numpy.typing as npt
from gymnasium.vector.utils import create_shared_memory, read_from_shared_memory, write_to_shared_memory

_PLACE = 1 << 16  # maximum bytes of a text
_LENGTH = 8  # bytes of its length field


class TextSpace(gymnasium.Space[str]):
    """Any text of up to `max_chars` characters.

    This includes control characters and lone surrogates.
    """

    def __init__(self, max_chars: int) -> None:
        super().__init__(shape=None, dtype=None)
        self.max_chars = max_chars

    def contains(self, x: Any) -> bool:  # Any: Gymnasium passes arbitrary objects
        """Return whether `x` is a member."""
        return isinstance(x, str) and len(x) <= self.max_chars

    def sample(self, mask: Any = None, probability: Any = None) -> str:  # Any: Gymnasium's signature
        """Return a short random text."""
        return "".join(chr(c) for c in self.np_random.integers(32, 127, size=int(self.np_random.integers(0, 24))))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, TextSpace) and other.max_chars == self.max_chars

    def __hash__(self) -> int:
        return hash(self.max_chars)

    def __repr__(self) -> str:
        return f"TextSpace({self.max_chars})"


class SharedTexts(Sequence[str]):
    """The texts in shared memory, decoded on access; a deep copy is a tuple of texts."""

    def __init__(self, memory: Any, count: int) -> None:  # Any: multiprocessing's arrays have no public type
        self._bytes, self._count = _bytes_of(memory), count

    def __len__(self) -> int:
        return self._count

    @overload
    def __getitem__(self, index: int) -> str: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[str, ...]: ...
    def __getitem__(self, index: int | slice) -> str | tuple[str, ...]:
        if isinstance(index, slice):
            return tuple(self)[index]
        start = range(self._count)[index] * (_PLACE + _LENGTH)
        size = int.from_bytes(self._bytes[start : start + _LENGTH].tobytes())
        return self._bytes[start + _LENGTH : start + _LENGTH + size].tobytes().decode("utf-8", "surrogatepass")

    def __iter__(self) -> Iterator[str]:
        return (self[index] for index in range(self._count))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sequence) and tuple(self) == tuple(other)

    def __deepcopy__(self, memo: object) -> tuple[str, ...]:
        return tuple(self)

    def __repr__(self) -> str:
        return repr(tuple(self))


@create_shared_memory.register(TextSpace)
def _create(space: TextSpace, n: int = 1, ctx: Any = multiprocessing) -> Any:  # Any: as above
    return ctx.Array("B", n * (_PLACE + _LENGTH))


@read_from_shared_memory.register(TextSpace)
def _read(space: TextSpace, shared_memory: Any, n: int = 1) -> SharedTexts:  # Any: as above
    return SharedTexts(shared_memory, n)


@write_to_shared_memory.register(TextSpace)
def _write(space: TextSpace, index: int, value: str, shared_memory: Any) -> None:  # Any: as above
    data = value.encode("utf-8", "surrogatepass")
    if len(data) > _PLACE:
        raise ValueError(
            f"An observation of {len(data)} bytes does not fit the shared memory of a vector environment, {_PLACE}; "
            'pass vector_kwargs={"shared_memory": False}'
        )
    start = index * (_PLACE + _LENGTH)
    whole = len(data).to_bytes(_LENGTH) + data
    _bytes_of(shared_memory)[start : start + len(whole)] = np.frombuffer(whole, np.uint8)


def _bytes_of(memory: Any) -> npt.NDArray[np.uint8]:  # Any: as above
    return np.frombuffer(memory.get_obj(), np.uint8)
