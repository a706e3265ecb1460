"""Connection of a run to Ray: starts actors, reads their results, and counts lost ones.

An actor is *lost* if it died, if Ray cannot reach it or if it did not answer in time. It is then killed and a note is
logged. The caller that needs the actor starts another one: Ray restarts no actor by itself, because only the owner of
an actor knows its contents. Errors that an actor's method raises do not count as losses: they are raised here
unchanged.
"""

from __future__ import annotations

import logging
import os
import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from cairn.core.errors import CairnError, ConfigError, MissingExtraError
from cairn.trainer.cluster.config import ActorResources, ClusterConfig

try:
    import ray
    from ray.exceptions import GetTimeoutError, RayError, RayTaskError
    from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy
except ImportError:
    raise MissingExtraError("A run with [cluster] settings", "ray") from None

Actor = Any  # Any: Ray's handles have the methods of the class behind them
Ref = Any  # Any: Ray's references have the types of their future results
_REACH_S = 20.0


class ActorLost(Exception):  # noqa: N818  (an event that callers handle, as EpisodeFailure is)
    """An actor that died, or does not answer."""


class Cluster:
    """The actors of one run. Use as a context manager: its exit kills them."""

    def __init__(self, config: ClusterConfig, on_note: Callable[[str], None]) -> None:
        """Join the cluster at the configured address, or the one on this machine, or start one.

        Raises:
            ConfigError: no cluster answers at that address.
        """
        self.config = config
        self.replaced = 0
        self.on_note = on_note
        self._actors: list[Actor] = []
        self._joined = not ray.is_initialized()
        if self._joined:
            _join(config.address)

    def __enter__(self) -> Cluster:
        return self

    def __exit__(self, *_: object) -> None:
        for actor in self._actors:
            ray.kill(actor)
        if self._joined:
            ray.shutdown()

    def start(
        self, kind: type, place: ActorResources, *arguments: Any, is_local: bool = False
    ) -> Actor:  # Any: arguments of `kind`
        """Return a new actor; it starts as soon as a machine has its resources.

        Actors are spread over machines; an `is_local` actor runs on the trainer's machine, unless it requests custom
        resources.
        """
        where: Any = "SPREAD"  # Any: Ray takes names and objects
        if is_local and not place.resources:
            where = NodeAffinitySchedulingStrategy(ray.get_runtime_context().get_node_id(), soft=False)
        actor: Actor = (
            ray.remote(kind)
            .options(
                num_cpus=place.cpus, num_gpus=place.gpus, resources=place.resources or None, scheduling_strategy=where
            )
            .remote(*arguments)
        )
        self._actors.append(actor)
        return actor

    def answer(self, ref: Ref, timeout_s: float | None = None) -> Any:  # Any: the method's result
        """Return a call's result; the timeout is `cluster.silence_s` by default.

        Raises:
            ActorLost: the actor died or did not answer within the timeout.
        """
        try:
            return ray.get(ref, timeout=timeout_s or self.config.silence_s)
        except RayTaskError as error:
            if isinstance(error.cause, CairnError):
                raise error.cause from None
            raise
        except GetTimeoutError:
            raise ActorLost(f"it did not answer for {timeout_s or self.config.silence_s:g} s") from None
        except RayError as error:
            raise ActorLost(_reason(error)) from error

    def free(self) -> str:
        """Return the resources that no actor uses, as text."""
        there: dict[str, float] = ray.available_resources()
        there = {name: count for name, count in there.items() if not name.startswith("node:")}
        return ", ".join(f"{count:g} {name}" for name, count in sorted(there.items())) + " free"

    def stop(self, actor: Actor) -> None:
        """Kill an actor that is not needed any more; does nothing for a lost actor."""
        if actor in self._actors:
            ray.kill(actor)
            self._actors.remove(actor)

    def lost(self, actor: Actor, name: str, why: object) -> None:
        """Kill a lost actor and record its loss.

        Raises:
            CairnError: more actors were lost than may be replaced.
        """
        self.stop(actor)
        if self.replaced >= self.config.replacements:
            raise CairnError(
                f"{name} died, and cluster.replacements = {self.config.replacements} allows no further replacement: "
                f"{why}. Find out why these processes end (often memory), then continue with --resume"
            )
        self.replaced += 1
        self.on_note(f"{name} died and is replaced: {why}")


@contextmanager
def own_errors() -> Iterator[None]:
    """Re-raise an error for users as a plain `CairnError` that names this process.

    Not every error class can be pickled to another process.
    """
    try:
        yield
    except CairnError as error:
        raise CairnError(f"On {pid_and_host()}: {error}") from None


def pid_and_host() -> str:
    """Return this process's id and host name, as text for users."""
    return f"process {os.getpid()} on {socket.gethostname()}"


def _join(address: str | None) -> None:
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    os.environ.setdefault("RAY_worker_niceness", "0")  # 15 by default: actors wait for every other program
    try:
        if address is not None:  # Ray itself would retry for minutes
            host, _, port = address.partition(":")
            socket.create_connection((host, int(port)), timeout=_REACH_S).close()
        ray.init(address=address, include_dashboard=False, log_to_driver=False, logging_level=logging.ERROR)
    except (OSError, OverflowError, ValueError, RuntimeError) as error:
        raise ConfigError(
            f"cluster.address: cannot join a Ray cluster at {address!r}: {str(error).splitlines()[0][:300]}. Start one "
            "with `ray start --head`, set RAY_AUTH_MODE=token here if it wants a token, or leave cluster.address out"
        ) from error


def _reason(error: RayError) -> str:
    """Return the last line of Ray's message, which names the cause, without the advice after it."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return (lines[-1] if lines else type(error).__name__).partition(" Some common causes")[0][:300]
