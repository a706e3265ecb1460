"""The result of one check, and the command that fixes a failed one."""

from __future__ import annotations

from dataclasses import dataclass
from importlib import metadata

from cairn.core.errors import CairnError, MissingDataError, MissingExtraError, MissingProgramError

DATA = "export CAIRN_DATA=DIR"


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """The result of one check."""

    section: str
    what: str
    is_well: bool | None  # None: optional, and missing
    found: str
    mend: str = ""  # a command, or a setting; "" if no action is needed


def refused(section: str, what: str, error: CairnError) -> Finding:
    """Return the finding for an error: only a missing package, program or data file is optional."""
    mend = mending(error)
    found = "a package is missing" if isinstance(error, MissingExtraError) else str(error)
    return Finding(section=section, what=what, is_well=None if mend else False, found=found, mend=mend)


def mending(error: CairnError) -> str:
    """Return the command that installs the missing part, or "" if nothing is missing."""
    if isinstance(error, MissingExtraError):
        return error.command
    if isinstance(error, MissingProgramError):
        return error.command
    return DATA if isinstance(error, MissingDataError) else ""


def version(package: str) -> str | None:
    """Return a package's version, or None if it is not installed."""
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return None
