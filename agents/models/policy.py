"""Loads a policy model from a folder, a hub name or a fresh configuration, and saves it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import torch
from pydantic import Field, model_validator
from torch import Tensor
from transformers import AutoConfig, AutoModelForCausalLM, GenerationConfig, Qwen3Config, Qwen3ForCausalLM
from transformers.utils.logging import disable_progress_bar, enable_progress_bar, is_progress_bar_enabled

from cairn.agents.models.lora import LoraConfig, add_lora, base_of, is_lora, load_lora, trained
from cairn.agents.models.model_files import HUB, download_settings, local_folder, read_json
from cairn.agents.models.packed_attention import NAME
from cairn.agents.models.templates import OWN_TEMPLATE, TemplateChoice, Value, load_template, marks_in
from cairn.agents.models.tokens import Encoder, load_tokenizer, train_tokenizer
from cairn.core.config import Config
from cairn.core.errors import CairnError, ConfigError
from cairn.core.seeding import derive_seed

# Sizes of fresh models: (layers, width, heads). Heads are at least 16 wide; the feed-forward width is 3 x width.
PRESETS = {"qwen3-nano": (2, 64, 4), "qwen3-tiny": (3, 128, 4), "qwen3-mini": (4, 256, 8), "qwen3-small": (8, 512, 8)}

_COPY = 0.7  # correlation of a fresh model's attention output weights with its value weights

# Changes to logits, after the output layer or in attention, that the packed forward pass does not implement.
_LOGIT_CHANGES = ("attn_logit_softcapping", "final_logit_softcapping", "logit_scale", "logits_scaling")


class ModelConfig(Config):
    """The policy's model."""

    path: str | None = Field(None, description="Local folder or hub name; None: a fresh model of the preset's size.")
    preset: str = Field("qwen3-tiny", description=f"Size of a fresh model: {', '.join(PRESETS)}.")
    vocab_size: int = Field(1024, ge=300, description="Ids of a fresh model's tokenizer, trained on environment text.")
    max_positions: int = Field(4096, ge=64, description="Longest sequence of a fresh model.")
    dtype: Literal["float32", "bfloat16"] = Field("float32", description="Of weights and computation.")
    chat_template: str | None = Field(
        None,
        description="Name of one that ships with Cairn, or path of a .jinja file; it is saved with the policy. "
        "None: the tokenizer's own, if it has one.",
    )
    chat_template_values: dict[str, Value] = Field(
        {}, description="Values of variables of the chat template, such as enable_thinking; saved with it."
    )
    lora: LoraConfig | None = Field(None, description="Train adapters beside the frozen model; None: all weights.")

    @property
    def template(self) -> TemplateChoice:
        """The chat template and its values.

        Raises:
            UnknownNameError: no such chat template.
            ConfigError: the name of a value cannot be a variable.
        """
        text = None if self.chat_template is None else load_template(self.chat_template)
        return TemplateChoice(text=text, values=self.chat_template_values)

    @model_validator(mode="after")
    def _check(self) -> ModelConfig:
        if self.lora is not None and self.path is None:
            raise ValueError(
                "lora needs model.path: a fresh model has learned nothing that could be kept frozen. Set model.path, "
                "or leave out model.lora"
            )
        if self.chat_template_values and self.chat_template is None and self.path is None:
            raise ValueError(
                "chat_template_values: a fresh model has no chat template of its own. Set model.chat_template, or "
                "leave out model.chat_template_values"
            )
        return self


@dataclass
class Policy:
    """A causal language model and its tokenizer."""

    model: Any  # Any: transformers picks the class; None: the weights are on a server
    encoder: Encoder
    version: int = 0  # number of optimiser updates; a new back end reports this version

    @property
    def device(self) -> torch.device:
        """The device of the weights."""
        device: torch.device = next(self.model.parameters()).device
        return device

    @property
    def num_parameters(self) -> int:
        """Number of weights; shared ones count once."""
        return sum(p.numel() for p in self.model.parameters())

    @property
    def num_trainable(self) -> int:
        """Number of weights that training changes."""
        return sum(p.numel() for p in trained(self.model).values())

    def save(self, folder: Path, weights: Mapping[str, Tensor] | None = None) -> None:
        """Write weights (safetensors), configuration and tokenizer in the format of `transformers`.

        For a model with adapters, only the adapters and the name of the base are written. `weights` replaces the
        model's own weights, if those are sharded over ranks.
        """
        with _without_bars():
            self.model.save_pretrained(folder, state_dict=None if weights is None else dict(weights))
            self.encoder.tokenizer.save_pretrained(folder)

    def set_checkpointing(self, is_on: bool) -> None:
        """Switch activation checkpointing on or off; it recomputes each layer in the backward pass."""
        is_new = hasattr(self.model, "activation_checkpointing_enable")
        name = "activation_checkpointing" if is_new else "gradient_checkpointing"  # transformers 6 removes the latter
        if is_on:
            getattr(self.model, f"{name}_enable")({"use_reentrant": False})
        elif getattr(self.model, f"is_{name}"):
            getattr(self.model, f"{name}_disable")()


def load_policy(
    config: ModelConfig, corpus: Callable[[], tuple[Sequence[str], Sequence[str]]], seed: int, device: str = "cpu"
) -> Policy:
    """Return the configured policy.

    `corpus` returns texts and actions for training the tokenizer of a fresh model.

    Raises:
        ConfigError: no such folder or hub model, an unknown preset, a model whose attention is not supported, adapters
            that do not fit it, or a chat template that does not suit the tokenizer.
        UnknownNameError: no such chat template.
    """
    template = config.template
    if config.path is not None:
        policy = load_pretrained(config.path, config.dtype, device, template)
        if config.lora is not None:
            add_lora(policy.model, config.lora, seed)
        return policy
    if config.preset not in PRESETS:
        raise ConfigError(f"model.preset: expected one of {sorted(PRESETS)}, got {config.preset!r}")
    texts, actions = corpus()
    shown = [] if template.text is None else [template.text]  # the template's words are in every prompt
    tokenizer = train_tokenizer([*texts, *shown], config.vocab_size, actions, marks_in("".join(shown)))
    encoder = _encoder(tokenizer, template)
    model: Any = _fresh(config, encoder, seed)  # Any: see Policy
    for weight in model.parameters():  # not buffers: rotary frequencies stay float32, as in a loaded model
        weight.data = weight.data.to(_dtype(config.dtype))
    return Policy(model=model.to(device), encoder=encoder)


def load_pretrained(
    path: str, dtype: str = "float32", device: str = "cpu", template: TemplateChoice = OWN_TEMPLATE
) -> Policy:
    """Load model and tokenizer from a folder or hub name.

    For a folder with an adapter, its base model is loaded with the adapter, and all other weights are frozen.
    """
    where = _place(path)
    adapter = where if isinstance(where, Path) and is_lora(where) else None
    base = where if adapter is None else _place(base_of(adapter))
    if isinstance(base, Path) and not (base / "config.json").is_file():
        of = "model" if adapter is None else f"base model of the adapter in {str(adapter)!r}"
        raise ConfigError(f"model.path: no {of} at {str(base)!r} (expected a folder with config.json and safetensors)")
    try:
        _refuse_unsupported(AutoConfig.from_pretrained(base))
        with _without_bars():
            model: Any = AutoModelForCausalLM.from_pretrained(base, attn_implementation=NAME, dtype=_dtype(dtype))
        tokenizer = load_tokenizer(where)
        if adapter is not None:
            load_lora(model, adapter)
    except CairnError:
        raise
    except Exception as error:  # of damaged files: any
        raise ConfigError(f"model.path: cannot load {str(where)!r}: {_reason(error)}") from error
    known, rows = len(tokenizer), model.get_input_embeddings().num_embeddings
    if known > rows:
        raise ConfigError(
            f"model.path: the tokenizer of {str(where)!r} has {known} tokens and its model embeds {rows}: they do not "
            "belong together, or tokens were added and the model was not resized (resize_token_embeddings)"
        )
    for weight in model.parameters():
        weight.data = weight.data.clone()  # a copy, since a file's alignment affects the last bits on a CPU
    return Policy(model=model.to(device), encoder=_encoder(tokenizer, template, model.generation_config))


def load_remote(path: str, template: TemplateChoice = OWN_TEMPLATE) -> Policy:
    """Load only the tokenizer, for a policy whose weights are on a server."""
    setting = "sampling.openai.tokenizer"
    folder = local_folder(path) or download_settings(path.removeprefix(HUB), setting)
    try:
        return Policy(model=None, encoder=_encoder(load_tokenizer(folder), template, _generation_config(folder)))
    except CairnError:
        raise
    except Exception as error:  # of damaged files: any
        raise ConfigError(f"sampling.openai.tokenizer: cannot load {path!r}: {_reason(error)}") from error


def _place(path: str) -> Path | str:
    """Return the absolute folder of a model, or the name of a hub model.

    The folder is absolute so that an adapter's base is found from any working directory. A hub model with cached
    weights is returned as its folder: otherwise transformers would query the hub about each file, and without a network
    retry for half a minute.

    Raises:
        ConfigError: the model is not in the cache, and the hub does not respond in time or does not have it.
    """
    if (folder := local_folder(path)) is not None:
        return folder
    cached = download_settings(name := path.removeprefix(HUB), "model.path")
    return cached if _has_weights(cached) else name


def _reason(error: Exception) -> str:
    """Return the first line of an error, with its type if the line alone is not informative."""
    lines = str(error).splitlines() or [""]
    is_plain = isinstance(error, (OSError, ValueError)) and lines[0]
    return (lines[0] if is_plain else f"{type(error).__name__}: {lines[0]}")[:300]


def _has_weights(folder: Path) -> bool:
    parts = read_json(folder / "model.safetensors.index.json").get("weight_map", {"": "model.safetensors"})
    named = set(parts.values()) if isinstance(parts, dict) else set()
    return bool(named) and all((folder / str(name)).is_file() for name in named)


def _encoder(tokenizer: Any, template: TemplateChoice, config: Any = None) -> Encoder:  # Any: as transformers has it
    """Return the encoder; the end ids of the model's generation configuration also end replies."""
    if template != OWN_TEMPLATE:
        own = tokenizer.chat_template
        tokenizer.chat_template = template.applied(own.get("default") if isinstance(own, dict) else own)
    ends = getattr(config, "eos_token_id", None)
    return Encoder(tokenizer, [ends] if isinstance(ends, int) else ends or ())


def _generation_config(folder: Path) -> Any:  # Any: as above
    """Return the generation configuration in a model's folder; None if it has none."""
    return GenerationConfig.from_pretrained(folder) if (folder / "generation_config.json").is_file() else None


@contextmanager
def _without_bars() -> Iterator[None]:
    """Disable the progress bars of transformers."""
    was_enabled = is_progress_bar_enabled()
    disable_progress_bar()
    try:
        yield
    finally:
        if was_enabled:
            enable_progress_bar()


def _fresh(config: ModelConfig, encoder: Encoder, seed: int) -> Qwen3ForCausalLM:
    layers, width, heads = PRESETS[config.preset]
    settings = Qwen3Config(
        vocab_size=len(encoder.tokenizer),
        hidden_size=width,
        intermediate_size=3 * width,
        num_hidden_layers=layers,
        num_attention_heads=heads,
        num_key_value_heads=heads,
        head_dim=max(16, width // heads),
        max_position_embeddings=config.max_positions,
        tie_word_embeddings=True,
        eos_token_id=encoder.end_id,
        pad_token_id=encoder.tokenizer.pad_token_id,
        bos_token_id=None,
        rope_parameters={"rope_type": "default", "rope_theta": 1e6},  # slow, so that names are found at any distance
        attn_implementation=NAME,
    )
    with torch.random.fork_rng(devices=[]):  # keep the process's random state
        torch.manual_seed(derive_seed(seed, "model"))
        model = Qwen3ForCausalLM(settings)
        _copy_what_is_attended(model)
        return model


@torch.no_grad()
def _copy_what_is_attended(model: Qwen3ForCausalLM) -> None:
    """Bias every attention layer towards copying.

    The output weights become similar to the transposed value weights. After Trockman and Kolter 2023, "Mimetic
    initialization of self-attention layers". Copying a name from the task is the last skill that a fresh model learns;
    `docs/log.md` has the measurement.
    """
    for layer in model.model.layers:
        values, output = layer.self_attn.v_proj.weight, layer.self_attn.o_proj.weight
        if values.shape == output.T.shape:
            output.copy_(_COPY * values.T + (1 - _COPY**2) ** 0.5 * output)


def _refuse_unsupported(settings: Any) -> None:  # Any: transformers picks the class
    kinds = set(getattr(settings, "layer_types", None) or ["full_attention"])
    if not hasattr(settings, "layer_types") and getattr(settings, "sliding_window", None):
        kinds = {"sliding_attention"}  # older configurations have a width instead of layer types
    if kinds != {"full_attention"} or getattr(settings, "is_encoder_decoder", False):
        raise ConfigError(
            f"model.path: {settings.model_type} uses {sorted(kinds)}; only full causal attention is supported"
        )
    changed = [name for name in _LOGIT_CHANGES if getattr(settings, name, None) not in (None, 1, 1.0)]
    if changed:
        raise ConfigError(
            f"model.path: {settings.model_type} sets {changed}, which is not supported: logits stay as is"
        )


def _dtype(name: str) -> torch.dtype:
    kinds = {"float32": torch.float32, "bfloat16": torch.bfloat16}
    if name not in kinds:
        raise ConfigError(f"model.dtype: expected one of {sorted(kinds)}, got {name!r}")
    return kinds[name]
