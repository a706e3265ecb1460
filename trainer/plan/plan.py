"""Places a run's parts on its devices, checks that they fit, and estimates the speed.

Problems name the setting to change.

Speeds are estimates: of sampling, from the memory reads and operations of each step over all slots; of learning, from
operations at a fixed share of the device's peak. They do not include the time of environments.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from cairn.core.errors import ConfigError
from cairn.trainer.config import RunConfig
from cairn.trainer.plan.device import GIB, Device
from cairn.trainer.plan.learning import LearningSetting, learning_settings
from cairn.trainer.plan.memory import Parts, cached_sequences, learner_parts, rollout_parts, tensor_parallel
from cairn.trainer.plan.shape import ModelShape, shape_of
from cairn.trainer.pretrained import pretrained_notes

_USABLE = 0.92  # of a device's memory; fragmentation and the driver take the rest
_EFFICIENCY = 0.4  # of the peak, while learning
_SAMPLING = 0.6  # of the limit by memory and processor, while sampling


@dataclass(frozen=True, kw_only=True)
class Role:
    """The parts that share one device."""

    name: str
    devices: int  # number of devices with these parts
    parts: Parts  # bytes on each

    @property
    def total(self) -> float:
        """Bytes on each device."""
        return sum(self.parts.values())


@dataclass(frozen=True, kw_only=True)
class RunPlan:
    """The estimated needs of a run."""

    device: Device
    shape: ModelShape
    roles: list[Role]
    sequences: float | None  # of full length in the cache; None: external back end
    sampled_per_second: float | None  # tokens, by all workers; None: as above
    learned_per_second: float  # tokens, by all ranks
    problems: list[str]  # reasons why the run does not fit, each with the setting to change; empty: it fits
    settings: list[LearningSetting]  # those that determine its learning
    notes: list[str]  # warnings about these settings

    @property
    def room(self) -> float:
        """Usable bytes on each device."""
        return self.device.memory * _USABLE

    def check(self) -> None:
        """Check that the run fits.

        Raises:
            ConfigError: the run does not fit; the message names the settings to change.
        """
        if self.problems:
            raise ConfigError("The run does not fit: " + "; ".join(self.problems))


def plan(config: RunConfig, device: Device, defaulted: Collection[str] = ()) -> RunPlan:
    """Return the run's needs on these devices; `defaulted`: see `trainer.config.defaulted`."""
    shape = shape_of(config.model, config.model.lora)
    learner, rollout = learner_parts(config, shape, device.is_gpu), rollout_parts(config, shape, device)
    roles = _roles(config, learner, rollout)
    sequences = cached_sequences(config, shape, rollout)
    return RunPlan(
        device=device,
        shape=shape,
        roles=roles,
        sequences=sequences,
        sampled_per_second=None if sequences is None else _sampled(config, shape, device, sequences),
        learned_per_second=_learned(config, shape, device),
        problems=_problems(config, shape, device, roles, sequences),
        settings=learning_settings(config, defaulted),
        notes=pretrained_notes(config),
    )


def _roles(config: RunConfig, learner: Parts, rollout: Parts) -> list[Role]:
    """Return the roles: learner and rollout share a device unless the run has separate workers."""
    if config.cluster.workers == 0:
        return [Role(name="learner and rollout", devices=config.cluster.ranks, parts={**learner, **rollout})]
    runtime = {"runtime": learner["runtime"]}
    devices = config.cluster.workers * tensor_parallel(config)
    return [
        Role(name="learner", devices=config.cluster.ranks, parts=learner),
        Role(name="rollout worker", devices=devices, parts={**rollout, **runtime}),
    ]


def _problems(
    config: RunConfig, shape: ModelShape, device: Device, roles: list[Role], sequences: float | None
) -> list[str]:
    out = []
    wanted = sum(role.devices for role in roles)
    if device.is_gpu and wanted > device.count:
        out.append(
            f"{wanted} GPUs are asked for and {device.count} are there: lower cluster.ranks, cluster.workers or "
            "sampling.vllm.tensor_parallel"
        )
    for role in roles:
        if role.total > device.memory * _USABLE:
            over = (role.total - device.memory * _USABLE) / GIB
            out.append(f"{role.name}: {over:.1f} GiB too much on {device.name}: {_remedy(config, shape, role)}")
    if sequences is not None and sequences < 1:
        out.append(
            "the rollout's cache cannot hold one sequence of sampling.max_context: raise sampling.vllm.memory_share, "
            "or lower sampling.max_context"
        )
    return out


def _remedy(config: RunConfig, shape: ModelShape, role: Role) -> str:
    """Return advice to change the most effective setting."""
    largest = max((size, name) for name, size in role.parts.items())[1]
    if largest in ("activations", "logits"):
        if not config.learner.checkpointing and largest == "activations":
            return "set learner.checkpointing = true"
        return f"lower learner.micro_batch_tokens, now {config.learner.micro_batch_tokens}"
    if largest == "rollout cache":
        if config.sampling.method == "vllm":
            return "lower sampling.vllm.memory_share"
        return f"lower sampling.slots, now {config.sampling.slots}, or sampling.max_context"
    if shape.adapters or role.name == "rollout worker":
        return "choose a smaller model, model.dtype = 'bfloat16', or sampling.vllm.tensor_parallel"
    if shape.bytes == 4:
        return "set model.dtype = 'bfloat16'"
    return "set model.lora, or learn on more GPUs: cluster.ranks"


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
