"""Puts a run's parts on its devices and says whether they fit, how fast it may be, and what to change if they do not.

Speeds are estimates: of sampling, by what has to be read from memory and computed for each step of all slots at once;
of learning, by operations at a fixed share of the device's peak. Environments' time is not in them.
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

_USABLE = 0.92  # of a device's memory: the rest is lost to fragments and the driver
_EFFICIENCY = 0.4  # of the peak, while learning
_SAMPLING = 0.6  # of what memory and processor allow, while sampling


@dataclass(frozen=True, kw_only=True)
class Role:
    """What stands on one device."""

    name: str
    devices: int  # how many of its kind
    parts: Parts  # bytes on each

    @property
    def total(self) -> float:
        """Bytes on each device."""
        return sum(self.parts.values())


@dataclass(frozen=True, kw_only=True)
class RunPlan:
    """What a run will need."""

    device: Device
    shape: ModelShape
    roles: list[Role]
    sequences: float | None  # of full length that the cache holds; None: replies come from elsewhere
    sampled_per_second: float | None  # tokens, by all workers; None: as above
    learned_per_second: float  # tokens, by all ranks
    problems: list[str]  # why it cannot work, each with the setting to change; empty: it fits
    settings: list[LearningSetting]  # those that decide how it learns
    notes: list[str]  # warnings about these settings

    @property
    def room(self) -> float:
        """Bytes that may be used on each device."""
        return self.device.memory * _USABLE

    def check(self) -> None:
        """Refuse a run that cannot fit.

        Raises:
            ConfigError: with the settings to change.
        """
        if self.problems:
            raise ConfigError("The run does not fit: " + "; ".join(self.problems))


def plan(config: RunConfig, device: Device, defaulted: Collection[str] = ()) -> RunPlan:
    """Return what the configured run needs of these devices; `defaulted`: see `trainer.config.defaulted`."""
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
    """Learner and rollout share a device unless there are workers of their own."""
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
    """Return the setting whose change helps most."""
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
    """Return tokens a second: a step reads all weights and caches once and computes a token for every slot."""
    context = config.sampling.max_context / 2
    slots = min(config.sampling.slots, max(sequences * 2, 1))  # sequences have half their length on average
    group = tensor_parallel(config)
    read = (shape.parameters * shape.bytes + slots * context * shape.cache_bytes) / (device.bandwidth * group)
    computed = slots * shape.flops(context) / (device.flops * group)
    return max(config.cluster.workers, 1) * _SAMPLING * slots / max(read, computed)


def _learned(config: RunConfig, shape: ModelShape, device: Device) -> float:
    """Return tokens a second: forward, twice that backward, and forward again where it is not kept."""
    passes = 4 if config.learner.checkpointing else 3
    return config.cluster.ranks * _EFFICIENCY * device.flops / (passes * shape.flops(config.sampling.max_context / 2))
