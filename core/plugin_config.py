"""A plug-in chosen by name in a configuration, with settings for it and its alternatives."""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from typing import Any

from pydantic import ConfigDict

from cairn.core.config import Config
from cairn.core.errors import ConfigError
from cairn.core.plugins import ExtensionPoint


class PluginConfig(Config):
    """A plug-in by name.

    Each method's settings have their own table, so one flag switches the method.
    """

    model_config = ConfigDict(frozen=True, extra="allow")
    method: str

    @property
    def settings(self) -> dict[str, Any]:  # Any: the plug-in's Config checks them
        """The settings of the chosen method."""
        return dict((self.model_extra or {}).get(self.method, {}))

    def check(self, point: ExtensionPoint, where: str) -> None:
        """Check every method's table against its Config."""
        point.load(self.method)
        for name, values in (self.model_extra or {}).items():
            if name not in point.ids() and name != self.method:  # a dotted path is not listed
                known = [*type(self).model_fields, *point.ids()]
                near = difflib.get_close_matches(name, known, n=1)
                hint = f"did you mean {near[0]!r}?" if near else f"expected one of {known}"
                raise ConfigError(f"{where}: unknown key {where}.{name}; {hint}")
            if not isinstance(values, Mapping):
                raise ConfigError(f"{where}.{name}: expected a table of settings, got {values!r}")
            point.config(name, values, f"{where}.{name}")

    def config(self, point: ExtensionPoint, where: str) -> Any:  # Any: the plug-in's own Config
        """Return the configuration of the chosen method; see `ExtensionPoint.config`."""
        return point.config(self.method, self.settings, f"{where}.{self.method}")

    def make(self, point: ExtensionPoint, where: str, *arguments: Any) -> Any:  # Any: see `Plugin.make`
        """Return the object that the chosen method makes; see `ExtensionPoint.build`."""
        return point.load(self.method).make(self.config(point, where), *arguments)
