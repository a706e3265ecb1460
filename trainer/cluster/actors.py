"""A run's connection to Ray: starts actors where the settings say, reads their answers, and counts those that died.

An actor that died, that Ray cannot reach or that is silent for too long is *lost*: it is killed, a note says so, and
whoever needs it starts another. Ray restarts nothing by itself, for only the owner of an actor knows what it held.
Errors that an actor's method raises are no losses: they are raised here as they are.
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
Ref = Any  # Any: Ray's references have the types of what they will be
_REACH_S = 20.0


class ActorLost(Exception):  # noqa: N818  (an event that is dealt with, as EpisodeFailure is)
    """An actor that died, or that does not answer."""


class Cluster:
    """The actors of one run. Use as a context manager: leaving it kills them."""

    def __init__(self, config: ClusterConfig, on_note: Callable[[str], None]) -> None:
        """Join the cluster at the configured address, or the one on this machine; else start one.

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
    ) -> Actor:  # Any: kind's own
        """Return a new actor, which begins as soon as a machine has what it asks for.

        Actors are spread over machines; one that `is_local` stands on the trainer's, unless it asks for resources that
        only some machines have.
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

    def answer(self, ref: Ref, timeout_s: float | None = None) -> Any:  # Any: what the method returned
        """Return what a call brought; a call that takes too long is a loss, `cluster.silence_s` by default.

        Raises:
            ActorLost: there will be no answer.
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
        """Return what no actor has taken, in words."""
        there: dict[str, float] = ray.available_resources()
        there = {name: count for name, count in there.items() if not name.startswith("node:")}
        return ", ".join(f"{count:g} {name}" for name, count in sorted(there.items())) + " free"

    def stop(self, actor: Actor) -> None:
        """End an actor that is not needed any more; one that is lost already is left alone."""
        if actor in self._actors:
            ray.kill(actor)
            self._actors.remove(actor)

    def lost(self, actor: Actor, name: str, why: object) -> None:
        """End what is left of an actor and take note of its loss.

        Raises:
            CairnError: more have been lost than may be replaced.
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
    """Raise what is told to users as a plain `CairnError` that says where: not all kinds can be carried elsewhere."""
    try:
        yield
    except CairnError as error:
        raise CairnError(f"On {pid_and_host()}: {error}") from None


def pid_and_host() -> str:
    """Return what a person needs to find this process."""
    return f"process {os.getpid()} on {socket.gethostname()}"


def _join(address: str | None) -> None:
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    os.environ.setdefault("RAY_worker_niceness", "0")  # 15 by default: actors wait for every other program
    try:
        if address is not None:  # Ray itself would look for minutes
            host, _, port = address.partition(":")
            socket.create_connection((host, int(port)), timeout=_REACH_S).close()
        ray.init(address=address, include_dashboard=False, log_to_driver=False, logging_level=logging.ERROR)
    except (OSError, OverflowError, ValueError, RuntimeError) as error:
        raise ConfigError(
            f"cluster.address: cannot join a Ray cluster at {address!r}: {str(error).splitlines()[0][:300]}. Start one "
            "with `ray start --head`, set RAY_AUTH_MODE=token here if it wants a token, or leave cluster.address out"
        ) from error


def _reason(error: RayError) -> str:
    """Return Ray's last line, which says what happened, without the advice that follows it."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return (lines[-1] if lines else type(error).__name__).partition(" Some common causes")[0][:300]
