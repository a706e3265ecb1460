"""The kinds of failure Cairn tells apart.

A bug raises whatever Python raises. A wrong request by the user is a `CairnError`. A failure of ours during an episode
(environment, sandbox, model server, reward) is an `EpisodeFailure`: it is recorded and counted, and its episode is
retried or left out, never scored 0. A model's bad action is none of these: it is data.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable

from cairn.core.extras import install_command


class CairnError(Exception):
    """A request that cannot be met; the message says what was expected, what came, and what to do."""


class CairnWarning(UserWarning):
    """Something works, but probably not as the user expects; the message says what to do."""


class ConfigError(CairnError):
    """A configuration that cannot be loaded: unknown key, wrong type, or settings that exclude each other."""


class UnknownNameError(CairnError):
    """A name that is not registered. The message gives the nearest known name and the command that lists them."""

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
    """A program that is no Python package is not installed. The message says how to get it, as `command` does."""

    def __init__(self, message: str, command: str) -> None:
        self.command = command
        super().__init__(message)


class MissingDataError(CairnError):
    """A benchmark's files are not there. The message says where they were looked for and how to point at them."""


class EpisodeFailure(CairnError):  # noqa: N818  (a failure is an outcome with a record, not a programming error)
    """An episode that ended through a fault of ours. `cause` is the part that failed."""

    cause = "environment"


class EnvironmentFailure(EpisodeFailure):
    """The environment raised, hung, died or outgrew its memory."""


class SandboxFailure(EpisodeFailure):
    """The sandbox could not run what it was asked to run."""

    cause = "sandbox"


class ModelFailure(EpisodeFailure):
    """The policy's back end did not answer, or answered outside its protocol."""

    cause = "model"


class RewardFailure(EpisodeFailure):
    """The episode could not be scored."""

    cause = "reward"
