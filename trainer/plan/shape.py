"""A model's sizes, from its configuration alone: no weights are loaded or created."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

import torch
from transformers import AutoConfig, AutoModelForCausalLM, Qwen3Config

from cairn.agents.models.model_files import HUB, download_settings, local_folder
from cairn.agents.models.policy import PRESETS, ModelConfig
from cairn.core.errors import ConfigError

BYTES = {"float32": 4, "bfloat16": 2}


@dataclass(frozen=True, kw_only=True)
class ModelShape:
    """Sizes of a causal language model."""

    parameters: int  # shared ones count once
    adapters: int  # parameters of LoRA; 0: the whole model is trained
    layers: int
    width: int
    inner: int  # width of the feed-forward part
    query_width: int  # heads x head width
    key_width: int  # key heads x head width
    vocabulary: int
    bytes: int  # of one weight
    layer: int  # parameters of one layer
    hidden: int  # trained parameters in matrices of the layers, which Muon changes if it is chosen
    largest: int  # parameters of the largest tensor
    has_head_norms: bool  # queries and keys are normalised, as in Qwen3
    copied_inputs: int  # numbers per token and layer that adapters copy to float32, with a bfloat16 base
    kept_inputs: int  # numbers per token and layer that adapters keep of their inputs, with a float32 base

    @property
    def trained(self) -> int:
        """Parameters that change."""
        return self.adapters or self.parameters

    @property
    def cache_bytes(self) -> int:
        """Bytes of keys and values of one token."""
        return 2 * self.layers * self.key_width * self.bytes

    @property
    def trained_bytes(self) -> int:
        """Bytes of one trained weight: adapters are float32 for every dtype of the base."""
        return 4 if self.adapters else self.bytes

    @property
    def has_masters(self) -> bool:
        """Whether the optimiser holds a float32 master of each trained weight."""
        return self.trained_bytes < 4

    @property
    def root(self) -> int:
        """Parameters outside the layers: embeddings, last norm, output layer."""
        return self.parameters - self.layers * self.layer

    def flops(self, context: float) -> float:
        """Return the operations of a token's forward pass; `context`: mean preceding tokens."""
        return 2 * self.parameters + 4 * self.layers * self.query_width * context


def shape_of(config: ModelConfig, lora: Any) -> ModelShape:  # Any: LoraConfig or None
    """Return the sizes of the configured model.

    Raises:
        ConfigError: the model's configuration cannot be read.
    """
    settings: Any = _settings(config)  # Any: transformers selects the class
    with torch.device("meta"):
        build: Any = AutoModelForCausalLM.from_config  # Any: transformers has no types
        model = build(settings)
    adapted = [] if lora is None else _adapted(model, lora)
    inputs = {_input_of(name): module.in_features for name, module in adapted}
    layer: Any = model.get_decoder().layers[0]  # Any: as above
    head = getattr(settings, "head_dim", None) or settings.hidden_size // settings.num_attention_heads
    return ModelShape(
        parameters=sum(p.numel() for p in model.parameters()),
        adapters=0 if lora is None else sum(lora.rank * (m.in_features + m.out_features) for _, m in adapted),
        layers=settings.num_hidden_layers,
        width=settings.hidden_size,
        inner=settings.intermediate_size,
        query_width=settings.num_attention_heads * head,
        key_width=(settings.num_key_value_heads or settings.num_attention_heads) * head,
        vocabulary=settings.vocab_size,
        bytes=BYTES[config.dtype],
        layer=sum(p.numel() for p in layer.parameters()),
        hidden=sum(p.numel() for p in layer.parameters() if p.ndim == 2) * settings.num_hidden_layers
        if lora is None
        else sum(lora.rank * (m.in_features + m.out_features) for _, m in adapted),
        largest=max(p.numel() for p in model.parameters()),
        has_head_norms=any(name.endswith("q_norm") for name, _ in layer.named_modules()),
        copied_inputs=sum(m.in_features for _, m in adapted) // settings.num_hidden_layers,
        kept_inputs=sum(inputs.values()) // settings.num_hidden_layers,
    )


def _settings(config: ModelConfig) -> Any:  # Any: transformers selects the class
    if config.path is not None:
        folder = local_folder(config.path) or download_settings(config.path.removeprefix(HUB), "model.path")
        try:
            return AutoConfig.from_pretrained(folder)
        except (OSError, ValueError) as error:
            raise ConfigError(
                f"model.path: cannot read the configuration of {config.path!r}: {str(error).splitlines()[0][:200]}"
            ) from error
    layers, width, heads = PRESETS[config.preset]
    return Qwen3Config(
        vocab_size=config.vocab_size,
        hidden_size=width,
        intermediate_size=3 * width,
        num_hidden_layers=layers,
        num_attention_heads=heads,
        num_key_value_heads=heads,
        head_dim=max(16, width // heads),
        tie_word_embeddings=True,
    )


def _adapted(model: Any, lora: Any) -> list[tuple[str, torch.nn.Linear]]:  # Any: as above; LoraConfig
    """Return the matrices that get an adapter."""
    output = model.get_output_embeddings()
    targets = lora.targets
    return [
        (name, module)
        for name, module in model.named_modules()
        if isinstance(module, torch.nn.Linear)
        and module is not output
        and (targets == "all-linear" or any(re.fullmatch(rf"(.*\.)?{re.escape(t)}", name) for t in targets))
    ]


def _input_of(name: str) -> str:
    """Return a name that projections of one input share: those of queries, keys and values, of gate and up."""
    return re.sub(r"[qkv]_proj$", "qkv_proj", re.sub(r"(gate|up)_proj$", "gate_up_proj", name))
