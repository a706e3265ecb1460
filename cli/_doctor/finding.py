"""One thing that was looked at, and where the command that mends a gap comes from."""

from __future__ import annotations

from dataclasses import dataclass
from importlib import metadata

from cairn.core.errors import CairnError, MissingDataError, MissingExtraError, MissingProgramError

DATA = "export CAIRN_DATA=DIR"


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One thing that was looked at."""

    section: str
    what: str
    is_well: bool | None  # None: optional, and not there
    found: str
    mend: str = ""  # a command, or what to set; empty where nothing is to be done


def refused(section: str, what: str, error: CairnError) -> Finding:
    """Return what an error says: something that is missing may be, anything else may not."""
    mend = mending(error)
    found = "a package is missing" if isinstance(error, MissingExtraError) else str(error)
    return Finding(section=section, what=what, is_well=None if mend else False, found=found, mend=mend)


def mending(error: CairnError) -> str:
    """Return the command that gets what is missing; "": nothing is."""
    if isinstance(error, MissingExtraError):
        return error.command
    if isinstance(error, MissingProgramError):
        return error.command
    return DATA if isinstance(error, MissingDataError) else ""


def version(package: str) -> str | None:
    """Return a package's version; None: it is not installed."""
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return None
