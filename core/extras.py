"""The packages of Cairn's optional extras, and the command that installs them."""

from __future__ import annotations

import re

_EXTRA = re.compile(r"""(?P<package>.*?)\s*;\s*extra\s*==\s*["'](?P<extra>.*?)["']""")


def install_command(extra: str) -> str:
    """Return the command that installs the packages of an extra.

    It names the packages themselves, so that it works however Cairn was installed: Cairn is on no package index.
    """
    from importlib import metadata  # slow to import

    found = [match for line in metadata.requires("cairn-rl") or () if (match := _EXTRA.fullmatch(line))]
    return " ".join(("pip install", *(f"'{match['package']}'" for match in found if match["extra"] == extra)))
