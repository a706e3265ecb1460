"""Exception types, and the command that installs a missing optional package.

A bug raises Python's own exceptions. An invalid request of the user is a `CairnError`. An infrastructure failure during
an episode (environment, sandbox, model server, reward) is an `EpisodeFailure`: it is recorded and counted, and its
episode is retried or left out, never scored 0. A model's invalid action raises none of these: it is data.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable
from shlex import quote

_EXTRA = re.compile(r"""(?P<package>.*?)\s*;\s*extra\s*==\s*["'](?P<extra>.*?)["']""")


def install_command(extra: str) -> str:
    """Return the command that installs the packages of an extra.

    It names the packages themselves, because Cairn is not on a package index: the command works however Cairn was
    installed.
    """
    from importlib import metadata  # slow to import

    found = [match for line in metadata.requires("cairn-rl") or () if (match := _EXTRA.fullmatch(line))]
    return " ".join(("pip install", *(f"'{match['package']}'" for match in found if match["extra"] == extra)))


class CairnError(Exception):
    """A request that cannot be met. The message says what to do instead."""


class CairnWarning(UserWarning):
    """A request that works, but probably not as the user expects. The message says what to do."""


class DivergedError(CairnError):
    """Weights, loss or gradients are not finite.

    A training run rolls back to a checkpoint or stops.
    """


class ConfigError(CairnError):
    """An invalid configuration: unknown key, wrong type, or settings that exclude each other."""


class UnknownNameError(CairnError):
    """A name that is not registered.

    The message gives the nearest known name and the command that lists them.
    """

    def __init__(self, kind: str, name: str, known: Iterable[str], list_command: str) -> None:
        self.name = name
        names = sorted(known)
        near = difflib.get_close_matches(name, names, n=1)
        hint = f" Did you mean {near[0]!r}?" if near else ""
        super().__init__(f"Unknown {kind} {name[:200]!r}.{hint} List them with: {list_command}")


class MissingExtraError(CairnError):
    """An optional package is not installed. The message has the command that installs it."""

    def __init__(self, feature: str, extra: str) -> None:
        self.command = install_command(extra)
        super().__init__(f"{feature} needs packages that are not installed. Install them with: {self.command}")


class MissingProgramError(CairnError):
    """A missing program that is not a Python package; the message and `command` install it."""

    def __init__(self, message: str, command: str) -> None:
        self.command = command
        super().__init__(message)


class MissingDataError(CairnError):
    """Missing files of a benchmark.

    The message says where they were searched for and how to set their location.
    """


class DamagedStoreError(CairnError):
    """A run's file with content that Cairn does not write.

    The message names the file, the fault and the remedy.
    """

    def __init__(self, path: str, how: str) -> None:
        self.how = how
        save = f'sqlite3 {quote(path)} ".recover" | sqlite3 saved.sqlite'
        super().__init__(f"Run store {path!r} is damaged: {how}. Save the readable part with: {save}")


class EpisodeFailure(CairnError):  # noqa: N818  (a failure is an outcome with a record, not a programming error)
    """An episode that an infrastructure fault ended. `cause` is the part that failed."""

    cause = "environment"


class EnvironmentFailure(EpisodeFailure):
    """The environment raised, hung, died or exceeded its memory limit."""


class SandboxFailure(EpisodeFailure):
    """The sandbox could not run the requested command."""

    cause = "sandbox"


class ModelFailure(EpisodeFailure):
    """The policy's back end did not answer, or its answer violated the protocol."""

    cause = "model"


class RewardFailure(EpisodeFailure):
    """The episode could not be scored."""

    cause = "reward"
