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
    """A call ended through a fault.

    `cause`: raised, hung, died, memory, garbage, interrupted; sandbox and reward where the fault was theirs.
    """

    def __init__(self, cause: str, message: str) -> None:
        self.cause = cause
        super().__init__(message)


class EnvHost:
    """An environment with its snapshots; every operation is a method of the same name."""

    def __init__(self, address: str, config: Mapping[str, Any]) -> None:
        with _faults_apart("__init__"):
            self.env = registry.make(address, **config)
        self.meta = self.env.meta
        self.turn_limit = self.env.turn_limit
        self._snapshots: list[Any] = []  # Any: the environment's own form
        self._is_at_work = False  # from the beginning of a call to its end

    def call(self, operation: str, **arguments: Any) -> Any:  # Any: each operation has its own
        """Carry out one operation.

        Raises:
            CairnError: the request was wrong; the environment is well.
            gymnasium.error.ResetNeeded: the episode is over; the environment is well.
            Failure: the environment is not to be used again: it failed, or an exception from outside, such as
                KeyboardInterrupt, ended the call before in the middle.
        """
        if self._is_at_work:
            raise Failure("interrupted", f"the call before {operation!r} was interrupted; take another environment")
        self._is_at_work = True
        try:
            with _faults_apart(operation):
                answer = getattr(self, operation)(**arguments)
        except Exception:  # what the environment raised; raised again
            self._is_at_work = False
            raise
        self._is_at_work = False
        return answer

    def kill(self) -> None:
        """Close the environment; a fault of its `close` is a warning, since it is not used again."""
        registry.close(self.env)

    def begin(self) -> None:
        """Forget the snapshots of the lease before."""
        self._snapshots.clear()

    def tasks(self) -> list[str]:
        """Return the task ids."""
        return list(self.env.tasks())

    def reset(self, seed: int | None, options: dict[str, Any] | None) -> tuple[Any, ...]:
        """Start an episode."""
        answer = self.env.reset(seed=seed, options=options)
        checked_text(answer[0])  # bytes would not reach another process, and the error would be another one
        return answer

    def step(self, action: str) -> tuple[Any, ...]:
        """Carry out an action."""
        answer = self.env.step(action)
        checked_text(answer[0])
        return answer

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


def checked_text(answer: Any) -> str:  # Any: it is what we check
    """Return the text."""
    if not isinstance(answer, str):
        raise garbage("expected text", answer)
    return answer


def garbage(expected: str, got: object) -> Failure:
    """Return the failure of an environment that returned something else than expected."""
    return Failure("garbage", f"{expected}, got {got!r:.200}")


@contextlib.contextmanager
def _faults_apart(operation: str) -> Iterator[None]:
    """Let wrong requests pass; turn everything else that an environment raises into a `Failure`.

    KeyboardInterrupt passes: in this process it cannot be distinguished from Ctrl-C.
    """
    try:
        yield
    except Failure:
        raise
    except EpisodeFailure as error:
        raise Failure(error.cause if error.cause in ("sandbox", "reward") else "raised", str(error)) from error
    except (CairnError, gymnasium.error.ResetNeeded):
        raise
    except MemoryError as error:
        raise Failure("memory", "out of memory") from error
    except (Exception, SystemExit, GeneratorExit) as error:  # the boundary to foreign code
        raise Failure("raised", f"{type(error).__name__}: {error} (in {operation}())") from error
