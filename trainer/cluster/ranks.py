"""Learning shared out over ranks on several machines: the face of `trainer.learner.learner.Learner` over Ray actors.

The trainer's own learner stays whole and makes no step: it holds weights, moments and reference as they were after the
last update, for checkpoints, evaluation and rollout. Each update's samples go to all ranks, and the first one's new
state comes back. If a rank is lost on the way, all are built anew from that state and the update is made again with the
same samples: its metrics and weights are those of an update in which nothing happened.

Not covered: a state that does not fit into the trainer's memory, and ranks that come and go without a restart of all.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import ray
from torch import Tensor

from cairn.agents.models.lora import trained
from cairn.agents.models.policy import Policy
from cairn.core.errors import CairnError
from cairn.trainer.cluster.actors import Actor, ActorLost, Cluster, Ref, own_errors, pid_and_host
from cairn.trainer.cluster.weights import Weights, files_of, policy_of, put_weights, weights_of
from cairn.trainer.config import RunConfig
from cairn.trainer.hardware import set_up_torch
from cairn.trainer.learner.distributed import full_weights, join, open_meeting, shard
from cairn.trainer.learner.learner import Learner
from cairn.trainer.learner.samples import Sample

_GRACE_S = 15.0  # a rank that fails because another died may say so before the death is known
_POLL_S = 1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class LearnerState:
    """A learner between two updates, whole."""

    weights: Weights  # those that training changes
    optimizer: Mapping[str, Tensor]
    reference: Mapping[str, Tensor] | None
    steps: int
    rate_scale: float

    def put(self, learner: Learner) -> None:
        """Give it to a learner, whose weights are its own already."""
        learner.optimizer.load_tensors(self.optimizer)
        learner.steps, learner.rate_scale = self.steps, self.rate_scale
        if learner.reference is not None and self.reference is not None:
            learner.reference.load_tensors(self.reference)


def state_of(learner: Learner) -> LearnerState:
    """Return a learner's state; every rank must ask."""
    whole = full_weights(learner.policy.model)
    return LearnerState(
        weights=weights_of({name: whole[name] for name in trained(learner.policy.model)}),
        optimizer={name: tensor.cpu() for name, tensor in learner.optimizer.tensors().items()},
        reference=None
        if learner.reference is None
        else {name: tensor.cpu() for name, tensor in learner.reference.tensors().items()},
        steps=learner.steps,
        rate_scale=learner.rate_scale,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class UpdateArguments:
    """The arguments of `Learner.update`, besides the samples."""

    loss: str
    settings: dict[str, Any]  # Any: the loss's Config checks them
    seed: int
    version: int | None


class LearnerRank:
    """One of the processes that learn together; `host`, `meet` of the first and `start` come first, in this order."""

    def host(self) -> str:
        """Return this machine's address."""
        return str(ray.util.get_node_ip_address())

    def meet(self, host: str) -> int:
        """Open the place where the ranks meet, on this machine, and return its port."""
        self._meeting = open_meeting(host)
        return self._meeting.port

    def start(
        self,
        rank: int,
        place: tuple[str, int],
        config: RunConfig,
        files: Mapping[str, bytes],
        state: LearnerState,
        total_steps: int,
    ) -> str:
        """Join the others with a part of the weights, and return what names this process."""
        set_up_torch(config.trainer.threads, config.trainer.deterministic)
        ranks = join(rank, config.cluster.ranks, *place, timeout_s=config.cluster.silence_s)
        policy = policy_of(files, config.model.dtype)
        put_weights(policy, state.weights)
        shard(policy, ranks)
        self._learner = Learner(policy, config.learner, total_steps, config.sampling.temperature, ranks=ranks)
        state.put(self._learner)
        return pid_and_host()

    def update(self, samples: Sequence[Sample], asked: UpdateArguments) -> tuple[dict[str, float], LearnerState | None]:
        """Make an update together with the others; the first one returns the state after it too."""
        with own_errors():
            metrics = self._learner.update(samples, asked.loss, asked.settings, asked.seed, asked.version)
        state = state_of(self._learner)
        return metrics, state if self._learner.ranks.rank == 0 else None


class RankedLearner(Learner):
    """A learner whose updates are made by ranks elsewhere."""

    def __init__(self, cluster: Cluster, config: RunConfig, policy: Policy, total_steps: int) -> None:
        """Start nothing yet: the first update does, from the state as it is then."""
        super().__init__(policy, config.learner, total_steps, config.sampling.temperature)
        self._cluster, self._settings, self._num_steps = cluster, config, total_steps
        self._actors: list[Actor] = []
        self._names: list[str] = []

    def update(
        self,
        samples: Sequence[Sample],
        loss: str,
        loss_config: dict[str, Any],
        seed: int,
        version: int | None = None,
    ) -> dict[str, float]:
        """Make an update, see `Learner.update`, with as many ranks built anew as it takes.

        Raises:
            CairnError: as there; or too many actors died.
        """
        given = ray.put(list(samples))
        asked = UpdateArguments(loss=loss, settings=loss_config, seed=seed, version=version)
        while True:
            try:
                if not self._actors:
                    self._start()
                answers = self._all([actor.update.remote(given, asked) for actor in self._actors])
                break
            except _RankLost as lost:
                self._end(lost)
        metrics, state = answers[0]
        put_weights(self.policy, state.weights)
        state.put(self)
        found: dict[str, float] = metrics
        return found

    def close(self) -> None:
        """End the ranks."""
        for actor in self._actors:
            self._cluster.stop(actor)
        self._actors = []

    def _start(self) -> None:
        """Build all ranks from the state as it is."""
        settings = self._settings.cluster
        self._names = [f"Learner rank {rank}" for rank in range(settings.ranks)]
        self._actors = [self._cluster.start(LearnerRank, settings.placement.learner) for _ in self._names]
        hosts = self._all([actor.host.remote() for actor in self._actors])
        host = hosts[0] if len(set(hosts)) > 1 else "127.0.0.1"
        (port,) = self._all([self._actors[0].meet.remote(host)])
        files, state = ray.put(files_of(self.policy)), ray.put(state_of(self))
        more = (self._settings, files, state, self._num_steps)
        where = self._all([a.start.remote(rank, (host, port), *more) for rank, a in enumerate(self._actors)])
        for rank, process in enumerate(where):
            self._cluster.on_note(f"{self._names[rank]} is {process}")
            self._names[rank] += f" ({process})"

    def _all(self, calls: Sequence[Ref]) -> list[Any]:  # Any: what the method returns
        """Return all ranks' answers. That a rank was lost counts before errors which others raised because of it."""
        answers: dict[int, Any] = {}  # Any: as above
        errors: list[Exception] = []
        until = time.monotonic() + self._settings.cluster.silence_s
        waiting = list(calls)
        while waiting and time.monotonic() < until:
            ready, waiting = ray.wait(waiting, timeout=_POLL_S)
            for ref in ready:
                rank = calls.index(ref)
                try:
                    answers[rank] = self._cluster.answer(ref)
                except ActorLost as lost:
                    raise _RankLost(rank, str(lost)) from lost
                except (CairnError, ray.exceptions.RayTaskError) as error:
                    errors.append(error)
                    until = min(until, time.monotonic() + _GRACE_S)
        if errors:
            raise errors[0]
        if waiting:
            raise _RankLost(calls.index(waiting[0]), f"it did not answer for {self._settings.cluster.silence_s:g} s")
        return [answers[rank] for rank in range(len(calls))]

    def _end(self, lost: _RankLost) -> None:
        """End all ranks, of which one is lost."""
        for rank, actor in enumerate(self._actors):
            if rank != lost.rank:
                self._cluster.stop(actor)
        self._cluster.lost(self._actors[lost.rank], self._names[lost.rank], lost)
        self._actors = []


class _RankLost(ActorLost):
    """A rank that is no more, or silent."""

    def __init__(self, rank: int, why: str) -> None:
        super().__init__(why)
        self.rank = rank
