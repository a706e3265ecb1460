"""The run's store behind an actor: the trainer continues while its episodes are written.

Writes are numbered and sent in order. If the writer is lost, the unacknowledged writes are sent to the next writer. The
file records the number of its last write (see `RunStore.once`), so that no write is repeated or lost. A writer that was
replaced while it was still alive cannot write after its successor has claimed the file. Readers open the file as usual.
"""

from __future__ import annotations

import uuid
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from cairn.core.records import Episode
from cairn.core.store import RunStore
from cairn.trainer.cluster.actors import Actor, ActorLost, Cluster, Ref, pid_and_host

T = TypeVar("T")
_AHEAD = 4  # unacknowledged writes before the trainer waits


class StoreWriter:
    """The actor that owns the file; call `open` first."""

    def open(self, path: Path, max_bytes: int) -> tuple[str, int]:
        """Claim the file; return this process's id and host name, and the number of the last write."""
        self._store, self._name = RunStore(path, max_bytes), uuid.uuid4().hex
        return pid_and_host(), self._store.claim(self._name)

    def write(self, number: int, method: str, *arguments: Any, **options: Any) -> None:  # Any: the method's
        """Carry out a write, unless it is in the file already."""
        self._store.once(self._name, number, lambda store: getattr(store, method)(*arguments, **options))

    def meta(self) -> dict[str, Any]:  # Any: JSON values
        """Return the facts about the run."""
        return self._store.meta()

    def series(self, name: str) -> list[tuple[int, float]]:
        """Return (step, value) pairs of one metric, by step."""
        return self._store.series(name)


@dataclass(kw_only=True)
class _Write:
    """An unacknowledged write."""

    number: int
    call: tuple[str, tuple[Any, ...], dict[str, Any]]  # Any: the method's arguments
    ref: Ref = None


class RemoteStore:
    """`core.store.Recorder` over a `StoreWriter`, for the trainer."""

    def __init__(self, cluster: Cluster, path: Path, max_bytes: int) -> None:
        """Start the writer, on this machine unless its placement names custom resources.

        The path must lead to the file on the writer's machine.

        Raises:
            CairnError: the writer cannot open the file.
        """
        self.process = ""  # where the writer runs
        self._cluster, self._path, self._max_bytes = cluster, path.absolute(), max_bytes
        self._pending: deque[_Write] = deque()
        self._actor, self._last = self._opened()

    def set_meta(self, values: Mapping[str, Any]) -> None:  # Any: JSON values
        """Store facts about the run."""
        self._send("set_meta", dict(values))

    def add(
        self,
        step: int,
        metrics: Mapping[str, float],
        episodes: Sequence[Episode] = (),
        *,
        phase: str = "train",
        task_types: Sequence[str] | None = None,
        advantages: Mapping[str, Sequence[float]] | None = None,
    ) -> None:
        """Store one step's metrics and episodes."""
        more = {"phase": phase, "task_types": task_types, "advantages": advantages}
        self._send("add", step, dict(metrics), list(episodes), **more)

    def environment(self, env: str, version: int, config: Mapping[str, Any]) -> None:  # Any: JSON values
        """Store the version of an environment."""
        self._send("environment", env, version, dict(config))

    def checkpoint(self, step: int, folder: str) -> None:
        """Store that a checkpoint was saved."""
        self._send("checkpoint", step, folder)

    def event(self, step: int, kind: str, text: str) -> None:
        """Store an event."""
        self._send("event", step, kind, text)

    def forget_after(self, step: int) -> None:
        """Delete everything later than `step`."""
        self._send("forget_after", step)

    def meta(self) -> dict[str, Any]:  # Any: JSON values
        """Return the facts about the run, including those of pending writes."""
        self.flush()
        found: dict[str, Any] = self._sure(lambda: self._cluster.answer(self._actor.meta.remote()))
        return found

    def series(self, name: str) -> list[tuple[int, float]]:
        """Return (step, value) pairs of one metric, by step, including those of pending writes."""
        self.flush()
        found: list[tuple[int, float]] = self._sure(lambda: self._cluster.answer(self._actor.series.remote(name)))
        return found

    def flush(self) -> None:
        """Wait until every write is in the file.

        Raises:
            CairnError: a write failed.
        """
        self._settle(0)

    def _send(self, method: str, *arguments: Any, **options: Any) -> None:  # Any: the method's
        self._last += 1
        self._pending.append(_Write(number=self._last, call=(method, arguments, options)))
        self._dispatch(self._pending[-1])
        self._settle(_AHEAD)

    def _dispatch(self, write: _Write) -> None:
        method, arguments, options = write.call
        write.ref = self._actor.write.remote(write.number, method, *arguments, **options)

    def _settle(self, most: int) -> None:
        """Wait until at most `most` writes are unacknowledged."""
        while len(self._pending) > most:
            self._sure(lambda: self._cluster.answer(self._pending[0].ref))
            self._pending.popleft()

    def _sure(self, ask: Callable[[], T]) -> T:
        """Return the result of a call, repeated on a new writer whenever the writer is lost."""
        while True:
            try:
                return ask()
            except ActorLost as lost:
                self._replace(lost)

    def _replace(self, why: ActorLost) -> None:
        self._cluster.lost(self._actor, f"The store's writer ({self.process})", why)
        self._actor, _ = self._opened()
        for write in self._pending:
            self._dispatch(write)

    def _opened(self) -> tuple[Actor, int]:
        while True:
            actor = self._cluster.start(StoreWriter, self._cluster.config.placement.writer, is_local=True)
            try:
                self.process, last = self._cluster.answer(actor.open.remote(self._path, self._max_bytes))
                self._cluster.on_note(f"The store's writer is {self.process}")
                return actor, last
            except ActorLost as lost:
                self._cluster.lost(actor, "The store's writer", lost)
