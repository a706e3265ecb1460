"""Brings the supervisor into a container with a read-only root: `python -c` runs this text, which reads its modules.

They come over standard input, as a length and a ZIP archive, ahead of the first request. The archive lies in a file
without a name that is closed once all is imported, and leaves the path where modules are looked for: no program can
put anything of its own into the supervisor's way.
"""

import os
import sys

_NOWHERE = "/nonexistent"  # stands where a program's own folder will stand


def main() -> None:
    """Import the supervisor and let it serve."""
    archive = os.memfd_create("cairn")
    data = _taken(int.from_bytes(_taken(4), "big"))
    while data:
        data = data[os.write(archive, data) :]
    where = f"/proc/self/fd/{archive}"
    sys.path.insert(0, where)
    import supervisor  # type: ignore[import-not-found,unused-ignore]  # from the archive

    del sys.modules["supervisor"]  # programs, which start as a fork of this, find no module of that name
    os.close(archive)
    sys.path[:] = [_NOWHERE, *(path for path in sys.path if path not in ("", where))]
    sys.path_importer_cache.pop(where, None)
    supervisor.main()


def _taken(count: int) -> bytes:
    """Read so many bytes and none beyond: the first request follows."""
    parts = bytearray()
    while len(parts) < count:
        part = os.read(0, count - len(parts))
        if not part:
            sys.exit("standard input ended")
        parts += part
    return bytes(parts)


if __name__ == "__main__":
    main()
