"""Leases environments to episodes, in this process or in workers, and replaces failed ones.

If a leased environment raises, hangs, dies, exceeds its memory limit or returns garbage, the call raises
`EnvironmentFailure`; failures of its sandbox or scoring raise `SandboxFailure` or `RewardFailure`. The caller must mark
the episode as failed, and the next lease gets a new environment. Results do not depend on the kind of pool. Time and
memory are limited only in worker processes, because calls inside the process cannot be interrupted.
This is not a sandbox: environments are trusted code that may have bugs.
"""

from __future__ import annotations

import os
import queue
import threading
import weakref
from collections import Counter
from collections.abc import Callable, Mapping
from types import TracebackType
from typing import Any, Literal, Protocol, TypeVar

from pydantic import Field

from cairn.core.config import Config
from cairn.core.errors import CairnError, EnvironmentFailure, EpisodeFailure, RewardFailure, SandboxFailure
from cairn.envs import registry
from cairn.envs.base import EnvMeta
from cairn.envs.pool.host import EnvHost, Failure, checked_text
from cairn.envs.pool.validation import checked_reset, checked_step
from cairn.envs.pool.worker_process import WorkerLimits, WorkerProcess

T = TypeVar("T")


_OF_OTHERS: dict[str, type[EpisodeFailure]] = {"sandbox": SandboxFailure, "reward": RewardFailure}


class KeepConfig(Config):
    """Settings for the processes, threads and limits of a pool."""

    kind: Literal["inside", "processes"] = Field(
        "inside", description="Inside this process (fast, trusting), or each in a process of its own (slower, limited)."
    )
    threads: int | None = Field(
        None,
        ge=0,
        description="Environments that may be at work at once, in threads; 0: one after another, in the caller's, as "
        "runs need that are to be equal bit for bit. None: all worker processes; inside, as many as there are cores "
        "where environments wait for other processes (a sandbox, a browser), else 0.",
    )
    restart_limit: int = Field(100, ge=0, description="Failed environments that are replaced before the pool gives up.")
    limits: WorkerLimits = WorkerLimits()


class PoolConfig(KeepConfig):
    """Settings of a pool: its size, processes, threads and limits."""

    size: int = Field(
        1, ge=1, description="Environments that may be leased at the same time; each starts when it is first needed."
    )


class Slot(Protocol):
    """An environment for leases, in this or in another process."""

    meta: EnvMeta
    turn_limit: int

    def call(self, operation: str, **arguments: Any) -> Any:  # Any: depends on the operation
        """Execute one operation; see `EnvHost.call`."""

    def kill(self) -> None:
        """End the environment and all its processes."""


class EnvHandle:
    """A leased environment: the calls of a `TextEnv`, with faults raised as `EpisodeFailure`."""

    def __init__(self, pool: EnvPool, slot: Slot) -> None:
        self.meta = slot.meta
        self.turn_limit = slot.turn_limit
        self._scores = (float(slot.meta.reward_range[0]), float(slot.meta.reward_range[1]))
        self._pool = pool
        self._slot: Slot | None = slot

    def tasks(self) -> list[str]:
        """Return the task ids of the configured split."""
        return self._call(lambda answer: [checked_text(name) for name in answer], "tasks")

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[str, dict[str, Any]]:
        """Start an episode; see `TextEnv.reset`."""
        return self._call(lambda answer: checked_reset(answer, self._scores), "reset", seed=seed, options=options)

    def step(self, action: str) -> tuple[str, float, bool, bool, dict[str, Any]]:
        """Execute one action; see `TextEnv.step`."""
        if not isinstance(action, str):
            raise TypeError(f"{self.meta.name}: an action is text, got {type(action).__name__}")
        return self._call(lambda answer: checked_step(answer, self._scores), "step", action=action)

    def oracle(self, name: str | None = None) -> str:
        """Return the named oracle's next action."""
        return self._call(checked_text, "oracle", name=name)

    def snapshot(self) -> int:
        """Store a snapshot of the environment until the lease ends, and return its number."""
        return self._call(int, "snapshot")

    def restore(self, snapshot: int) -> None:
        """Restore a snapshot of this lease."""
        self._call(lambda answer: None, "restore", number=snapshot)

    def close(self) -> None:
        """Return the environment to its pool; repeated calls have no effect."""
        self._pool.release(self)

    def __enter__(self) -> EnvHandle:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _call(self, check: Callable[[Any], T], operation: str, **arguments: Any) -> T:
        if self._slot is None:
            raise EnvironmentFailure(f"{self.meta.name}: this lease is over; take another from the pool")
        try:
            return check(self._slot.call(operation, **arguments))
        except Failure as failure:
            raise self._pool._lose(self, failure) from failure


class EnvPool:
    """A pool of environments with one id and configuration; thread-safe."""

    def __init__(
        self,
        env_id: str,
        config: Mapping[str, Any] | None = None,
        pool: PoolConfig | None = None,
        environ: Mapping[str, str] | None = None,
    ) -> None:
        """Create an empty pool; `environ` has extra environment variables for worker processes."""
        self.config = pool or PoolConfig()
        self.failures: Counter[str] = Counter()  # by cause: raised, hung, ...; see `Failure`
        self.restarts = 0
        self._env_id = env_id
        self._address = registry.address(env_id) if self.config.kind == "processes" else env_id
        self._env_config = dict(config or {})
        self._environ = dict(environ or {})
        self._lock = threading.Lock()
        self._slots: set[Slot] = set()
        self._free: queue.LifoQueue[Slot | None] = queue.LifoQueue()  # None: a slot whose environment has not started
        for _ in range(self.config.size):
            self._free.put(None)
        self._finalizer = weakref.finalize(self, _kill_all, self._slots)

    @property
    def threads(self) -> int:
        """The maximum number of environments at work in threads; 0: all in the caller's thread."""
        if self.config.threads is not None:
            return self.config.threads
        if self.config.kind == "processes":
            return self.config.size
        return len(os.sched_getaffinity(0)) if registry.load(self._env_id).meta.is_blocking else 0

    def lease(self, timeout_s: float | None = None) -> EnvHandle:
        """Return a free environment or start one; waits while all are leased.

        Raises:
            CairnError: no environment became free in `timeout_s`, the pool is closed or gave up, or the configuration
                is invalid.
            EpisodeFailure: the environment could not start.
        """
        try:
            slot = self._free.get(timeout=timeout_s)
        except queue.Empty:
            raise CairnError(
                f"No environment {self._env_id!r} came free in {timeout_s:g} s; all {self.config.size} are leased"
            ) from None
        try:
            slot = self._ready(slot)
        except BaseException:  # including interrupts: the slot must become free; raised again
            self._free.put(None)
            raise
        return EnvHandle(self, slot)

    def release(self, handle: EnvHandle) -> None:
        """Take an environment back, unless it has failed."""
        slot, handle._slot = handle._slot, None
        if slot is not None:
            self._free.put(slot)

    def close(self) -> None:
        """Kill all environments, including leased ones; further leases raise an error."""
        self._finalizer()
        self._free.put(None)  # wakes a waiting lease, which fails and wakes the next

    def __enter__(self) -> EnvPool:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _ready(self, slot: Slot | None) -> Slot:
        """Return an environment without snapshots: `slot`, or a new one if `slot` has failed."""
        if not self._finalizer.alive:
            raise CairnError(f"The pool of {self._env_id!r} is closed")
        if slot is not None:
            try:
                slot.call("begin")
            except Failure as failure:
                self._discard(slot, failure.cause)
            else:
                return slot
        try:
            return self._start()
        except Failure as failure:
            raise self._failed(None, failure) from failure

    def _start(self) -> Slot:
        if self.restarts > self.config.restart_limit:
            counts = ", ".join(f"{cause} {count}" for cause, count in sorted(self.failures.items()))
            raise CairnError(
                f"Environment {self._env_id!r} failed {self.restarts} times ({counts}); the pool gives up, "
                f"restart_limit is {self.config.restart_limit}"
            )
        slot: Slot
        if self.config.kind == "processes":
            slot = WorkerProcess(self._address, self._env_config, self.config.limits, self._environ)
        else:
            slot = EnvHost(self._address, self._env_config)
        with self._lock:
            self._slots.add(slot)
        return slot

    def _lose(self, handle: EnvHandle, failure: Failure) -> EpisodeFailure:
        """End a lease whose environment failed; its slot is free again at once."""
        slot, handle._slot = handle._slot, None
        error = self._failed(slot, failure)
        self._free.put(None)
        return error

    def _failed(self, slot: Slot | None, failure: Failure) -> EpisodeFailure:
        self._discard(slot, failure.cause)
        if of_other := _OF_OTHERS.get(failure.cause):
            return of_other(f"{failure.cause} of environment {self._env_id!r}: {failure}")
        return EnvironmentFailure(f"environment {self._env_id!r} {failure.cause}: {failure}")

    def _discard(self, slot: Slot | None, cause: str) -> None:
        with self._lock:
            self.failures[cause] += 1
            self.restarts += 1
            if slot is not None:
                self._slots.discard(slot)
        if slot is not None:
            slot.kill()


def _kill_all(slots: set[Slot]) -> None:
    while slots:
        slots.pop().kill()
