"""Learning on several machines: a `Learner` whose updates run on Ray actors, one per rank.

The trainer's own learner stays complete and takes no step. It holds weights, moments and reference as they were after
the last update, for checkpoints, evaluation and rollout. All ranks receive each update's samples, and the first rank
returns the new state. If a rank is lost during an update, all ranks are rebuilt from the trainer's state, and the
update is repeated with the same samples: its metrics and weights equal those of an undisturbed update.

Not covered: a state that does not fit into the trainer's memory, and changes of the number of ranks without a restart
of all ranks.
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

_GRACE_S = 15.0  # a rank that fails because another rank died may report its error before the death is detected
_POLL_S = 1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class LearnerState:
    """The complete state of a learner between two updates."""

    weights: Weights  # the trained weights
    optimizer: Mapping[str, Tensor]
    reference: Mapping[str, Tensor] | None
    steps: int
    rate_scale: float

    def put(self, learner: Learner) -> None:
        """Load the state into a learner; its weights must be loaded separately."""
        learner.optimizer.load_tensors(self.optimizer)
        learner.steps, learner.rate_scale = self.steps, self.rate_scale
        if learner.reference is not None and self.reference is not None:
            learner.reference.load_tensors(self.reference)


def state_of(learner: Learner) -> LearnerState:
    """Return a learner's state; a collective operation that every rank must call."""
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
    """The arguments of `Learner.update` except the samples."""

    seed: int
    version: int | None


class LearnerRank:
    """One of the processes that learn together.

    Call `host`, then `meet` on the first rank, then `start`.
    """

    def host(self) -> str:
        """Return this machine's address."""
        return str(ray.util.get_node_ip_address())

    def meet(self, host: str) -> int:
        """Open the rendezvous of the ranks on this machine and return its port."""
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
        """Join the ranks with a shard of the weights, and return the process's id and host name."""
        set_up_torch(config.trainer.threads, config.trainer.deterministic)
        ranks = join(rank, config.cluster.ranks, *place, timeout_s=config.cluster.silence_s)
        policy = policy_of(files, config.model.dtype)
        put_weights(policy, state.weights)
        shard(policy, ranks)
        self._learner = Learner(
            policy, config.learner, total_steps, config.sampling.temperature, loss=config.loss, ranks=ranks
        )
        state.put(self._learner)
        return pid_and_host()

    def update(self, samples: Sequence[Sample], asked: UpdateArguments) -> tuple[dict[str, float], LearnerState | None]:
        """Make an update together with the others; the first rank also returns the state after it."""
        with own_errors():
            metrics = self._learner.update(samples, asked.seed, asked.version)
        state = state_of(self._learner)
        return metrics, state if self._learner.ranks.rank == 0 else None


class RankedLearner(Learner):
    """A learner whose updates are computed by other processes."""

    def __init__(self, cluster: Cluster, config: RunConfig, policy: Policy, total_steps: int) -> None:
        """Store the arguments; the first update starts the ranks from the learner's current state."""
        super().__init__(policy, config.learner, total_steps, config.sampling.temperature, loss=config.loss)
        self._cluster, self._settings, self._num_steps = cluster, config, total_steps
        self._actors: list[Actor] = []
        self._names: list[str] = []

    def update(self, samples: Sequence[Sample], seed: int, version: int | None = None) -> dict[str, float]:
        """Make an update as `Learner.update` does, and rebuild all ranks whenever one is lost.

        Raises:
            CairnError: see `Learner.update`; or too many actors died.
        """
        given = ray.put(list(samples))
        asked = UpdateArguments(seed=seed, version=version)
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
        """Start all ranks from the current state."""
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

    def _all(self, calls: Sequence[Ref]) -> list[Any]:  # Any: the methods' results
        """Return all ranks' results.

        A lost rank has priority over the errors that it caused in others.
        """
        answers: dict[int, Any] = {}  # Any: as above
        errors: list[Exception] = []
        until = time.monotonic() + self._settings.cluster.silence_s
        pending = list(calls)
        while pending and time.monotonic() < until:
            ready, pending = ray.wait(pending, timeout=_POLL_S)
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
        if pending:
            raise _RankLost(calls.index(pending[0]), f"it did not answer for {self._settings.cluster.silence_s:g} s")
        return [answers[rank] for rank in range(len(calls))]

    def _end(self, lost: _RankLost) -> None:
        """Stop all ranks and record the one that is lost."""
        for rank, actor in enumerate(self._actors):
            if rank != lost.rank:
                self._cluster.stop(actor)
        self._cluster.lost(self._actors[lost.rank], self._names[lost.rank], lost)
        self._actors = []


class _RankLost(ActorLost):
    """A rank that died or does not answer."""

    def __init__(self, rank: int, why: str) -> None:
        super().__init__(why)
        self.rank = rank
