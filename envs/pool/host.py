"""One environment behind one `call` method that separates faults from invalid requests.

A pool uses it inside the process, and a worker process uses it at its end of the connection.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping
from typing import Any

import gymnasium

from cairn.core.errors import CairnError, EpisodeFailure
from cairn.envs import registry


class Failure(Exception):  # noqa: N818  (an outcome that the pool turns into an EpisodeFailure)
    """A call failed because of a fault.

    `cause`: raised, hung, died, memory, garbage, interrupted; sandbox and reward if the fault was in a sandbox or in
    scoring.
    """

    def __init__(self, cause: str, message: str) -> None:
        self.cause = cause
        super().__init__(message)


class EnvHost:
    """An environment with its snapshots; each operation is a method of the same name."""

    def __init__(self, address: str, config: Mapping[str, Any]) -> None:
        with _faults_apart("__init__"):
            self.env = registry.make(address, **config)
        self.meta = self.env.meta
        self.turn_limit = self.env.turn_limit
        self._snapshots: list[Any] = []  # Any: the environment's own format
        self._is_at_work = False  # True during a call

    def call(self, operation: str, **arguments: Any) -> Any:  # Any: depends on the operation
        """Execute one operation.

        Raises:
            CairnError: the request was invalid; the environment is intact.
            gymnasium.error.ResetNeeded: the episode is over; the environment is intact.
            Failure: the environment must not be used again: it failed, or an external exception, such as
                KeyboardInterrupt, interrupted the preceding call.
        """
        if self._is_at_work:
            raise Failure("interrupted", f"the call before {operation!r} was interrupted; take another environment")
        self._is_at_work = True
        try:
            with _faults_apart(operation):
                answer = getattr(self, operation)(**arguments)
        except Exception:  # exceptions of the environment; raised again
            self._is_at_work = False
            raise
        self._is_at_work = False
        return answer

    def kill(self) -> None:
        """Close the environment; an error in its `close` is only a warning, as it is not used again."""
        registry.close(self.env)

    def begin(self) -> None:
        """Delete the snapshots of the preceding lease."""
        self._snapshots.clear()

    def tasks(self) -> list[str]:
        """Return the task ids."""
        return list(self.env.tasks())

    def reset(self, seed: int | None, options: dict[str, Any] | None) -> tuple[Any, ...]:
        """Start an episode."""
        answer = self.env.reset(seed=seed, options=options)
        checked_text(answer[0])  # bytes cannot be sent to another process, and would cause a different error
        return answer

    def step(self, action: str) -> tuple[Any, ...]:
        """Execute an action."""
        answer = self.env.step(action)
        checked_text(answer[0])
        return answer

    def oracle(self, name: str | None) -> str:
        """Return an oracle's next action."""
        return self.env.oracle(name)

    def snapshot(self) -> int:
        """Store a snapshot and return its number."""
        self._snapshots.append(self.env.snapshot())
        return len(self._snapshots) - 1

    def restore(self, number: int) -> None:
        """Restore a snapshot."""
        if not 0 <= number < len(self._snapshots):
            raise CairnError(f"This lease has {len(self._snapshots)} snapshots, no snapshot {number!r}")
        self.env.restore(self._snapshots[number])


def checked_text(answer: Any) -> str:  # Any: unchecked value
    """Return the answer if it is text, else raise a `Failure`."""
    if not isinstance(answer, str):
        raise garbage("expected text", answer)
    return answer


def garbage(expected: str, got: object) -> Failure:
    """Return the failure for an unexpected return value of an environment."""
    return Failure("garbage", f"{expected}, got {got!r:.200}")


@contextlib.contextmanager
def _faults_apart(operation: str) -> Iterator[None]:
    """Let invalid requests pass, and convert all other exceptions to a `Failure`.

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
