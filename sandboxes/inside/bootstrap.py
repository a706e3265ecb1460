"""Loads the supervisor into a sandbox: `python -c` runs this text, which reads its modules.

They arrive on standard input, as a length and a JSON object of sources by name, before the first request. They are
never written to a file, so a program cannot replace a module of the supervisor.
"""

from __future__ import annotations

import json
import os
import sys
from importlib.machinery import ModuleSpec

TYPE_CHECKING = False  # `typing` is slow to import
if TYPE_CHECKING:
    from types import ModuleType

_NOWHERE = "/nonexistent"  # placeholder for a program's own folder


class _Sources:
    """Finds and loads modules from their sources."""

    def __init__(self, sources: dict[str, str]) -> None:
        self.sources = sources

    def find_spec(self, name: str, path: object = None, target: object = None) -> ModuleSpec | None:
        return ModuleSpec(name, self) if name in self.sources else None  # type: ignore[arg-type]  # a loader by shape

    def create_module(self, spec: ModuleSpec) -> None:
        """Let the import system create the module."""

    def exec_module(self, module: ModuleType) -> None:
        exec(compile(self.sources[module.__name__], f"{module.__name__}.py", "exec"), module.__dict__)


def main() -> None:
    """Import the supervisor and run it."""
    sources = json.loads(_taken(int.from_bytes(_taken(4), "big")))
    sys.path[:] = [_NOWHERE, *(path for path in sys.path if path)]
    sys.meta_path.insert(0, _Sources(sources))
    import supervisor  # type: ignore[import-not-found,unused-ignore]

    del sys.meta_path[0]
    for name in sources:  # programs start as forks of this process and may have modules of these names
        sys.modules.pop(name, None)
    supervisor.main()


def _taken(count: int) -> bytes:
    """Read exactly `count` bytes: the first request follows."""
    parts = bytearray()
    while len(parts) < count:
        part = os.read(0, count - len(parts))
        if not part:
            sys.exit("standard input ended")
        parts += part
    return bytes(parts)


if __name__ == "__main__":
    main()
