"""LoRA adapters: small trained matrices beside a model's frozen ones, in peft's file format.

::

    y = W x + (alpha / rank) B A x;    W frozen, A [rank, in] random, B [out, rank] zero at the start

The adapters are always float32, for every dtype of the base. Only plain LoRA is supported: an adapter with other
features (DoRA, rank patterns, trained embeddings) is rejected. So is dropout, because it makes a token's logprob in
training differ from its sampled one.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

import torch
from pydantic import Field
from safetensors.torch import load_file
from torch import Tensor

from cairn.core.config import Config, build
from cairn.core.errors import ConfigError
from cairn.core.seeding import derive_seed

SETTINGS, _WEIGHTS, _NAME = "adapter_config.json", "adapter_model.safetensors", "default"

# Settings that a saved adapter may contain: its structure; its origin and its initialization, which are ignored.
_READ = {"r", "lora_alpha", "lora_dropout", "target_modules"}
_IGNORED = {
    "auto_mapping",
    "base_model_name_or_path",
    "inference_mode",
    "init_lora_weights",
    "peft_version",
    "task_type",
}


class LoraConfig(Config):
    """The matrices that get an adapter, and its size."""

    rank: int = Field(16, ge=1, description="Of each adapter.")
    alpha: float = Field(32.0, gt=0, description="An adapter's output is multiplied by alpha / rank.")
    dropout: float = Field(
        0.0, ge=0, le=0, description="Only 0: trained logprobs would not be those that were sampled."
    )
    targets: Literal["all-linear"] | tuple[str, ...] = Field(
        "all-linear", description="Names of modules, or all linear ones but the output layer."
    )


def add_lora(model: Any, config: LoraConfig, seed: int) -> None:  # Any: a transformers causal model
    """Freeze the model and add fresh adapters, in place; the policy's outputs do not change.

    Raises:
        ConfigError: the model has no module of a configured name, or has adapters already.
    """
    if getattr(model, "peft_config", None):
        raise ConfigError(
            "model.lora: the model at model.path has adapters already; leave out model.lora to train them"
        )
    with torch.random.fork_rng(devices=[]):  # keep the process's random state
        torch.manual_seed(derive_seed(seed, "lora"))
        _inject(model, config)


def base_of(folder: Path) -> str:
    """Return the base model's name in the adapter in `folder`.

    Raises:
        ConfigError: the adapter has no base model name.
    """
    base = _settings(folder).get("base_model_name_or_path")
    if not isinstance(base, str) or not base:
        raise ConfigError(f"model.path: the adapter at {str(folder)!r} does not name its base model in {SETTINGS}")
    return base


def load_lora(model: Any, folder: Path) -> None:  # Any: as above
    """Freeze the model and add the adapters in `folder`, in place; they can be trained further.

    Raises:
        ConfigError: the adapter is not plain LoRA, or does not fit the model.
    """
    stored = _settings(folder)
    _refuse_unsupported(stored, folder)
    targets = stored.get("target_modules")
    asked = {"rank": stored.get("r"), "alpha": stored.get("lora_alpha"), "targets": targets}
    _inject(model, build(LoraConfig, asked, str(folder / SETTINGS)))
    found = load_file(folder / _WEIGHTS)
    expected = {_saved_name(name): p for name, p in model.named_parameters() if p.requires_grad}
    if odd := sorted(set(found) ^ set(expected)):
        raise ConfigError(
            f"model.path: the adapter at {str(folder)!r} does not fit its base: {odd[0]!r} is not in both"
        )
    with torch.no_grad():
        for name, weight in expected.items():
            if weight.shape != found[name].shape:
                raise ConfigError(
                    f"model.path: the adapter at {str(folder)!r} does not fit its base: {name!r} is "
                    f"{tuple(found[name].shape)}, expected {tuple(weight.shape)}"
                )
            weight.copy_(found[name])


def is_lora(folder: Path) -> bool:
    """Return whether the folder contains an adapter rather than a whole model."""
    return (folder / SETTINGS).is_file() and not (folder / "config.json").is_file()


def trained(model: Any) -> dict[str, Tensor]:  # Any: as above
    """Return the weights that training changes, by name."""
    return {name: weight for name, weight in model.named_parameters() if weight.requires_grad}


def _inject(model: Any, config: LoraConfig) -> None:  # Any: as above
    from peft import LoraConfig as PeftLoraConfig  # slow to import and rarely needed

    targets = config.targets if isinstance(config.targets, str) else list(config.targets)
    settings = PeftLoraConfig(
        r=config.rank,
        lora_alpha=config.alpha,  # type: ignore[arg-type]  # peft takes floats
        target_modules=targets,
        task_type="CAUSAL_LM",  # read by AutoPeftModelForCausalLM
    )
    try:
        model.add_adapter(settings, _NAME)
    except ValueError as error:
        raise ConfigError(f"model.lora.targets: {str(error).splitlines()[0][:300]}") from error
    for name, weight in model.named_parameters():
        weight.requires_grad_(f".{_NAME}." in name)
        if weight.requires_grad:
            weight.data = weight.data.float()


def _settings(folder: Path) -> dict[str, Any]:  # Any: JSON
    try:
        stored = json.loads((folder / SETTINGS).read_text())
    except (OSError, ValueError) as error:
        raise ConfigError(f"model.path: cannot read {str(folder / SETTINGS)!r}: {error}") from error
    if not isinstance(stored, dict):
        raise ConfigError(f"model.path: expected a table in {str(folder / SETTINGS)!r}, got {stored!r:.100}")
    return stored


def _refuse_unsupported(stored: Mapping[str, Any], folder: Path) -> None:  # Any: JSON
    from peft import LoraConfig as PeftLoraConfig

    plain = vars(PeftLoraConfig())
    changed = {name: value for name, value in stored.items() if value != plain.get(name)}
    if odd := sorted(set(changed) - _READ - _IGNORED):
        raise ConfigError(
            f"model.path: the adapter at {str(folder)!r} sets {odd[0]} = {changed[odd[0]]!r:.100}; only plain LoRA is "
            "supported: merge it into its base"
        )


def _saved_name(name: str) -> str:
    """Return the name under which peft saves an adapter's weight."""
    return "base_model.model." + name.replace(f".{_NAME}.", ".")
