"""No isolation: programs run as this user with resource limits. For trusted code only."""

from __future__ import annotations

import sys
from typing import ClassVar

from pydantic import Field

from cairn.core.plugins import Plugin
from cairn.sandboxes.base import Limits, Sandbox, SandboxConfig
from cairn.sandboxes.local.folder_place import FolderPlace


class ProcessConfig(SandboxConfig):
    """The opt-in to running without isolation, and the interpreter."""

    trusted: bool = Field(False, description="Say true to run programs without isolation.")
    python: str | None = Field(None, description="Interpreter; None: the one that runs Cairn.")


class Process(Sandbox):
    """Sessions among this user's own processes."""

    name: ClassVar[str] = "process"
    promises: ClassVar[str] = "nothing but limits on time, memory, output and disk"
    no_network: ClassVar[str | None] = (
        "its programs have this machine's network, and nothing holds them to a list; use the sandbox 'bubblewrap'"
    )

    def problem(self) -> str | None:
        """Return an error unless `trusted` is set."""
        if self._config.trusted:
            return None
        return "it isolates nothing: programs can do everything that you can; set trusted = true if you trust them"

    @property
    def _config(self) -> ProcessConfig:
        assert isinstance(self.config, ProcessConfig)
        return self.config

    def launch(self, limits: Limits) -> FolderPlace:
        """Start a sandbox; see `base.Launcher`."""
        return FolderPlace(self._config.python or sys.executable, limits, None, None, b"")


SANDBOX = Plugin(ProcessConfig, Process)
