"""Plug-ins that count how often they are made, by dotted path."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import Any

from cairn.core.plugins import BACKENDS, CONTEXTS, CREDITS, LOSSES, ExtensionPoint, Plugin

MADE: Counter[str] = Counter()


def counted(point: ExtensionPoint, name: str) -> Plugin[Any]:
    plugin: Plugin[Any] = point.load(name)

    def make(*arguments: Any) -> Any:  # Any: those of the point
        MADE[point.name] += 1
        return plugin.make(*arguments)

    return replace(plugin, make=make)


CREDIT = counted(CREDITS, "gigpo")
LOSS = counted(LOSSES, "clip")
CONTEXT = counted(CONTEXTS, "transcript")
BACKEND = counted(BACKENDS, "hf")
