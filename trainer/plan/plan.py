"""Places a run's processes on its devices, checks that they fit, and estimates the speed.

Ray gives the first GPU to the first actor, and the trainer and its evaluation use that GPU as well. Each actor needs a
GPU of its own.

Speeds are estimates: of sampling, from the memory reads and operations of each step over all slots; of learning, from
operations at a fixed share of the device's peak. They do not include the time of environments.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from typing import Any

from cairn.core.errors import ConfigError
from cairn.trainer.config import RunConfig
from cairn.trainer.plan.device import GIB, Device
from cairn.trainer.plan.host import host_process
from cairn.trainer.plan.learning import LearningSetting, learning_settings
from cairn.trainer.plan.memory import (
    Parts,
    ProcessMemory,
    cached_sequences,
    engine_process,
    rank_process,
    tensor_parallel,
    trainer_process,
    worker_process,
)
from cairn.trainer.plan.remedies import find_remedy, remedy_text
from cairn.trainer.plan.shape import ModelShape, shape_of
from cairn.trainer.pretrained import pretrained_notes

_USABLE = 0.92  # of a device's memory; fragmentation and the driver take the rest
_EFFICIENCY = 0.4  # of the peak, while learning
_SAMPLING = 0.6  # of the limit by memory and processor, while sampling


@dataclass(frozen=True, kw_only=True)
class Role:
    """The processes that share one device, or the machine's main memory."""

    name: str
    devices: int  # number of devices with these processes
    processes: tuple[ProcessMemory, ...]
    room: float | None  # usable bytes; None: unknown

    @property
    def parts(self) -> Parts:
        """Bytes on each device, by part: each process in its largest phase."""
        out: dict[str, float] = {}
        for process in self.processes:
            for part, size in process.parts.items():
                name = part if len(self.processes) == 1 else f"{process.name}: {part}"
                out[name] = out.get(name, 0.0) + size
        return out

    @property
    def peaks(self) -> Mapping[str, str]:
        """The largest phase of each process."""
        return {process.name: process.peak for process in self.processes}

    @property
    def total(self) -> float:
        """Bytes on each device."""
        return sum(process.total for process in self.processes)

    @property
    def excess(self) -> float:
        """Bytes that do not fit."""
        return 0.0 if self.room is None else max(self.total - self.room, 0.0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Shortage:
    """A reason why a run does not fit."""

    text: str
    size: float  # bytes that are missing, to compare changes


@dataclass(frozen=True, kw_only=True)
class RunPlan:
    """The estimated needs of a run."""

    device: Device
    shape: ModelShape
    roles: list[Role]
    sequences: float | None  # of full length in the cache; None: external back end
    sampled_per_second: float | None  # tokens, by all workers; None: as above
    learned_per_second: float  # tokens, by all ranks
    problems: list[str]  # reasons why the run does not fit; empty: it fits
    remedy: Mapping[str, Any] | None  # settings with which it fits; None: none were found, or none are needed
    settings: list[LearningSetting]  # those that determine its learning
    notes: list[str]  # warnings about these settings

    @property
    def advice(self) -> str:
        """The settings with which the run fits, as text; empty if it fits."""
        return remedy_text(self.remedy) if self.problems else ""

    def check(self) -> None:
        """Check that the run fits.

        Raises:
            ConfigError: the run does not fit; the message names the settings to change.
        """
        if self.problems:
            raise ConfigError(f"The run does not fit: {'; '.join(self.problems)}. {self.advice}")


def plan(config: RunConfig, device: Device, defaulted: Collection[str] = ()) -> RunPlan:
    """Return the run's needs on these devices; `defaulted`: see `trainer.config.defaulted`."""
    shape = shape_of(config.model, config.model.lora)
    sequences = cached_sequences(config, shape, device)
    problems = find_shortages(config, shape, device)
    return RunPlan(
        device=device,
        shape=shape,
        roles=[*device_roles(config, shape, device), *_host_roles(config, shape, device)],
        sequences=sequences,
        sampled_per_second=None if sequences is None else _sampled(config, shape, device, sequences),
        learned_per_second=_learned(config, shape, device),
        problems=[problem.text for problem in problems],
        remedy=find_remedy(config, shape, device, find_shortages) if problems else None,
        settings=learning_settings(config, defaulted),
        notes=pretrained_notes(config),
    )


def device_roles(config: RunConfig, shape: ModelShape, device: Device) -> list[Role]:
    """Return the processes that share each kind of card, or the one processor."""
    cluster, engine = config.cluster, engine_process(config, shape, device)
    engines = () if engine is None else (engine,)
    trainer = trainer_process(config, shape, device)
    worker = (worker_process(config, shape, device), *engines)
    rank = (rank_process(config, shape, device),)
    num_ranks = cluster.ranks if cluster.ranks > 1 else 0
    room = device.memory * _USABLE
    if not device.is_gpu:
        host = host_process(config, shape, device)
        everything = (trainer, *(worker * cluster.workers), *(rank * num_ranks), host)
        return [Role(name="all processes", devices=1, processes=everything, room=room)]
    actors = [
        _actor_role("rollout worker", worker, cluster.workers * cluster.placement.worker.gpus, room),
        _actor_role("learner", rank, num_ranks * cluster.placement.learner.gpus, room),
    ]
    roles = [role for role in actors if role.devices]
    own = tensor_parallel(config) if engines else 1  # cards on which the trainer's processes run
    if not roles:
        name = "trainer" if cluster.is_used else "learner and rollout"
        return [Role(name=name, devices=own, processes=(trainer, *engines), room=room)]
    first, *others = roles
    evaluating = [replace(each, name="evaluation's vLLM") for each in engines] if cluster.workers else list(engines)
    shared = min(own, first.devices)
    together = replace(
        first, name=f"trainer and {first.name}", devices=shared, processes=(trainer, *evaluating, *first.processes)
    )
    rest = [replace(first, devices=first.devices - shared)] if first.devices > shared else []
    return [together, *rest, *others]


def find_shortages(config: RunConfig, shape: ModelShape, device: Device) -> list[Shortage]:
    """Return the reasons why a run does not fit."""
    out = [
        Shortage(text=f"{role.name}: {role.excess / GIB:.1f} GiB too much on {device.name}", size=role.excess)
        for role in [*device_roles(config, shape, device), *_host_roles(config, shape, device)]
        if role.excess
    ]
    sequences = cached_sequences(config, shape, device)
    if sequences is not None and sequences < 1:
        missing = (1 - sequences) * config.sampling.max_context * shape.cache_bytes
        text = f"the rollout's cache holds {sequences:.2f} sequences of sampling.max_context, and must hold one"
        out.append(Shortage(text=text, size=missing))
    return [*_placement_shortages(config, device), *out] if device.is_gpu else out


def _actor_role(name: str, processes: tuple[ProcessMemory, ...], gpus: float, room: float) -> Role:
    """Return the cards of a kind of actor."""
    return Role(name=name, devices=math.ceil(gpus), processes=processes, room=room)


def _placement_shortages(config: RunConfig, device: Device) -> list[Shortage]:
    """Return the reasons why Ray could not give every actor its GPUs."""
    cluster, group = config.cluster, tensor_parallel(config)
    kinds = [
        ("worker", cluster.workers, cluster.placement.worker.gpus, group),
        ("learner", cluster.ranks if cluster.ranks > 1 else 0, cluster.placement.learner.gpus, 1),
    ]
    out = [
        Shortage(
            text=f"cluster.placement.{kind}.gpus is {gpus:g}: each of these actors needs {needed} on {device.name}",
            size=device.memory * (needed - gpus) * count,
        )
        for kind, count, gpus, needed in kinds
        if count and gpus < needed
    ]
    wanted = max(sum(math.ceil(count * max(gpus, needed)) for _, count, gpus, needed in kinds), group)
    if wanted > device.count:
        text = f"{wanted} GPUs are needed and {device.count} are there"
        out.append(Shortage(text=text, size=device.memory * (wanted - device.count)))
    return out


def _host_roles(config: RunConfig, shape: ModelShape, device: Device) -> list[Role]:
    """Return the main memory of a machine with GPUs."""
    if not device.is_gpu:
        return []
    room = None if device.host is None else device.host * _USABLE
    host = host_process(config, shape, device)
    return [Role(name="main memory of one machine", devices=1, processes=(host,), room=room)]


def _sampled(config: RunConfig, shape: ModelShape, device: Device, sequences: float) -> float:
    """Return tokens per second.

    A step reads all weights and caches once and computes a token per slot.
    """
    context = config.sampling.max_context / 2
    slots = min(config.sampling.slots, max(sequences * 2, 1))  # sequences have half their length on average
    group = tensor_parallel(config)
    read = (shape.parameters * shape.bytes + slots * context * shape.cache_bytes) / (device.bandwidth * group)
    computed = slots * shape.flops(context) / (device.flops * group)
    return max(config.cluster.workers, 1) * _SAMPLING * slots / max(read, computed)


def _learned(config: RunConfig, shape: ModelShape, device: Device) -> float:
    """Return tokens per second: 1 forward pass, 2 for backward, 1 more with checkpointing."""
    passes = 4 if config.learner.checkpointing else 3
    return config.cluster.ranks * _EFFICIENCY * device.flops / (passes * shape.flops(config.sampling.max_context / 2))
