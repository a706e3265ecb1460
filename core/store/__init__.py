"""The run store: one SQLite file per run, with all of its episodes, metrics and events."""

from cairn.core.store.recorder import Recorder
from cairn.core.store.store import RunStore

__all__ = ["Recorder", "RunStore"]
