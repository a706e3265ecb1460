"""Finds settings with which a run fits: one, else several, from cheap changes to those that change the learning."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from cairn.core.config import as_flag, build, merge, nest
from cairn.core.errors import ConfigError
from cairn.trainer.config import RunConfig
from cairn.trainer.plan.device import Device
from cairn.trainer.plan.shape import ModelShape, shape_of

if TYPE_CHECKING:
    from cairn.trainer.plan.plan import Shortage

Settings = Mapping[str, Any]  # Any: values of settings, by dotted name
FindShortages = Callable[[RunConfig, ModelShape, Device], "Sequence[Shortage]"]

_LEAST_TOKENS = 512  # of a micro-batch
_SHARES = [0.05 * step for step in range(18, 0, -1)]


def find_remedy(config: RunConfig, shape: ModelShape, device: Device, find: FindShortages) -> Settings | None:
    """Return the first change of one setting, else of several, with which `find` returns no problem; None: none does.

    Several settings are chosen one after another: each takes the value that leaves the least memory missing. Then those
    that turn out not to be needed are left out.
    """

    def missing(settings: Settings) -> float | None:
        """Return the bytes that are missing with these settings; None: they exclude each other."""
        try:
            changed = with_settings(config, settings)
        except ConfigError:
            return None
        is_same = changed.model == config.model
        problems = find(changed, shape if is_same else shape_of(changed.model, changed.model.lora), device)
        return sum(problem.size for problem in problems)

    moves = list(_moves(config, device))
    for values in moves:
        for settings in values:
            if missing(settings) == 0:
                return settings
    chosen: dict[str, Any] = {}
    least = missing({})
    for values in moves:
        tried = [
            (size, number) for number, each in enumerate(values) if (size := missing({**chosen, **each})) is not None
        ]
        if least is not None and tried and min(tried)[0] < least:
            least, number = min(tried)
            chosen |= values[number]
        if least == 0:
            break
    if least != 0:
        return None
    for name in list(chosen):
        fewer = {other: value for other, value in chosen.items() if other != name}
        if missing(fewer) == 0:
            chosen = fewer
    return chosen


def with_settings(config: RunConfig, settings: Settings) -> RunConfig:
    """Return the configuration with other values of some settings.

    Raises:
        ConfigError: the values exclude each other.
    """
    return build(RunConfig, merge(config.model_dump(), nest(settings)), "the plan")


def remedy_text(settings: Settings | None) -> str:
    """Return the advice to change these settings."""
    if settings is None:
        return "No change of its settings that was tried makes it fit: choose a smaller model or larger devices"
    return "It fits with " + " ".join(f"--set {as_flag(name, value)}" for name, value in settings.items())


def _moves(config: RunConfig, device: Device) -> Iterator[list[Settings]]:
    """Yield the values to try of each setting, in the order of their cost to the run."""
    sampling, learner, cluster = config.sampling, config.learner, config.cluster
    is_vllm = sampling.method == "vllm"
    gpus = "cluster.placement.worker.gpus"
    group = int(sampling.settings.get("tensor_parallel", 1)) if is_vllm else 1
    if cluster.workers and cluster.placement.worker.gpus < group:
        yield [{gpus: float(group)}]
    if cluster.ranks > 1 and cluster.placement.learner.gpus < 1:
        yield [{"cluster.placement.learner.gpus": 1.0}]
    if is_vllm:
        share = float(sampling.settings.get("memory_share", 0.4))
        near = sorted(_SHARES, key=lambda other: abs(other - share))
        yield [{"sampling.vllm.memory_share": round(other, 2)} for other in near]
        if sampling.settings.get("cache_gib") is not None:
            yield [{"sampling.vllm.cache_gib": size} for size in _halves(sampling.settings["cache_gib"], 1)]
    yield [{"learner.micro_batch_tokens": size} for size in _halves(learner.micro_batch_tokens, _LEAST_TOKENS)]
    if not learner.checkpointing:
        yield [{"learner.checkpointing": True}]
    yield [{"sampling.slots": int(size)} for size in _halves(sampling.slots, 1)]
    if config.model.dtype == "float32":
        yield [{"model.dtype": "bfloat16"}]
    if is_vllm and group > 1:
        yield [{"sampling.vllm.tensor_parallel": int(size)} for size in _halves(group, 1)]
    yield [{"cluster.workers": count} for count in range(cluster.workers - 1, 0, -1)]
    yield [{"cluster.ranks": count} for count in range(cluster.ranks - 1, 0, -1)]
    if cluster.workers:  # without workers the trainer samples too, and shares the first rank's card
        more = {} if cluster.ranks > 1 else {"cluster.placement.learner.gpus": 1.0}
        yield [{"cluster.ranks": count, **more} for count in range(cluster.ranks + 1, device.count + 1)]
    if is_vllm and device.count > 1:
        larger = [size for size in (2, 4, 8) if group < size <= device.count]
        extra = {size: {gpus: float(size)} if cluster.workers else {} for size in larger}
        yield [{"sampling.vllm.tensor_parallel": size, **extra[size]} for size in larger]
    yield [{"sampling.max_context": int(size)} for size in _halves(sampling.max_context, 1024)]
    if config.model.lora is None and config.model.path is not None:
        yield [{"model.lora.rank": 16}]


def _halves(value: float, least: float) -> list[Any]:  # Any: numbers, of the type of `value`
    """Return half of the value, a quarter and so on, down to `least`."""
    out = []
    while (value := value // 2 if isinstance(value, int) else value / 2) >= least:
        out.append(value)
    return out
