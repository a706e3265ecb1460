"""One environment behind one `call`: what a pool does to it, with every fault told apart from a wrong request.

Used directly by a pool inside the process, and by the worker process on the far side of the wire.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping
from typing import Any

import gymnasium

from cairn.core.errors import CairnError, EpisodeFailure
from cairn.envs import registry


class Failure(Exception):  # noqa: N818  (an outcome that the pool turns into an EpisodeFailure)
    """A call ended through a fault. `cause`: raised, hung, died, memory, garbage; sandbox, reward: it was theirs."""

    def __init__(self, cause: str, message: str) -> None:
        self.cause = cause
        super().__init__(message)


class World:
    """An environment with its snapshots; every operation is a method of the same name."""

    def __init__(self, address: str, config: Mapping[str, Any]) -> None:
        with _faults_apart():
            self.env = registry.make(address, **config)
        self.meta = self.env.meta
        self.turn_limit = self.env.turn_limit
        self.is_alive = True
        self._snapshots: list[Any] = []  # Any: the environment's own form

    def call(self, operation: str, **arguments: Any) -> Any:  # Any: each operation has its own
        """Carry out one operation.

        Raises:
            CairnError: the request was wrong; the environment is well.
            gymnasium.error.ResetNeeded: the episode is over; the environment is well.
            Failure: the environment is not to be used again.
        """
        with _faults_apart():
            return getattr(self, operation)(**arguments)

    def kill(self) -> None:
        """Close the environment."""
        self.is_alive = False
        with contextlib.suppress(Exception):  # it is being thrown away, often because it is broken
            self.env.close()

    def begin(self) -> None:
        """Forget the snapshots of the lease before."""
        self._snapshots.clear()

    def tasks(self) -> list[str]:
        """Return the task ids."""
        return list(self.env.tasks())

    def reset(self, seed: int | None, options: dict[str, Any] | None) -> tuple[Any, ...]:
        """Start an episode."""
        return self.env.reset(seed=seed, options=options)

    def step(self, action: str) -> tuple[Any, ...]:
        """Carry out an action."""
        return self.env.step(action)

    def oracle(self, name: str | None) -> str:
        """Ask an oracle."""
        return self.env.oracle(name)

    def snapshot(self) -> int:
        """Keep a snapshot here and return its number."""
        self._snapshots.append(self.env.snapshot())
        return len(self._snapshots) - 1

    def restore(self, number: int) -> None:
        """Go back to a snapshot."""
        if not 0 <= number < len(self._snapshots):
            raise CairnError(f"This lease has {len(self._snapshots)} snapshots, no snapshot {number!r}")
        self.env.restore(self._snapshots[number])


@contextlib.contextmanager
def _faults_apart() -> Iterator[None]:
    """Let wrong requests pass; turn everything else that an environment raises into a `Failure`."""
    try:
        yield
    except EpisodeFailure as error:
        raise Failure(error.cause if error.cause in ("sandbox", "reward") else "raised", str(error)) from error
    except (CairnError, gymnasium.error.ResetNeeded):
        raise
    except MemoryError as error:
        raise Failure("memory", "out of memory") from error
    except Exception as error:  # the boundary to foreign code: whatever it raises is its failure
        raise Failure("raised", f"{type(error).__name__}: {error}") from error
