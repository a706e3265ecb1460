"""The run store: one SQLite file a run, with everything that happened in it."""

from cairn.core.store.recorder import Recorder
from cairn.core.store.store import RunStore

__all__ = ["Recorder", "RunStore"]
