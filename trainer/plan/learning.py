"""The settings of a run that determine its learning, with the source of each."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Any, Literal

from cairn.core.config import flatten
from cairn.trainer.config import RunConfig

_SHOWN = (
    "model.path",
    "model.lora.rank",
    "model.lora.alpha",
    "agent.context.method",
    "agent.context.chat.tools",
    "agent.constrain",
    "sampling.temperature",
    "sampling.max_reply_tokens",
    "sampling.max_context",
    "learner.optimizer.kind",
    "learner.optimizer.lr",
    "learner.optimizer.muon_lr",
    "learner.reference.kind",
    "learner.reference.weight",
    "learner.reference.estimator",
    "eval.temperature",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class LearningSetting:
    """A setting's final value and its source."""

    name: str  # dotted
    value: Any  # Any: TOML values
    source: Literal["configuration", "pretrained default"]  # "configuration" includes the defaults of the code


def learning_settings(config: RunConfig, defaulted: Collection[str]) -> list[LearningSetting]:
    """Return the settings that determine learning; `defaulted`: see `trainer.config.defaulted`."""
    values = flatten(config.model_dump())
    unused = set()
    if config.learner.optimizer.kind != "muon":
        unused.add("learner.optimizer.muon_lr")
    if config.learner.reference.kind == "none":
        unused |= {"learner.reference.weight", "learner.reference.estimator"}
    if config.agent.context.method != "chat":
        unused.add("agent.context.chat.tools")
    return [
        LearningSetting(
            name=name, value=values[name], source="pretrained default" if name in defaulted else "configuration"
        )
        for name in _SHOWN
        if values.get(name) is not None and name not in unused
    ]
