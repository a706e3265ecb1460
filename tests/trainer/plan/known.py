"""Shapes of known models, and shipped recipes that read them from local folders."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from cairn.trainer.config import RunConfig, load_run_config

RECIPES = sorted(Path("configs/runs").glob("qwen*.toml"))
QWEN = {
    "Qwen2.5-1.5B": {
        "hidden_size": 1536, "intermediate_size": 8960, "num_attention_heads": 12, "num_key_value_heads": 2,
        "vocab_size": 151936, "tie_word_embeddings": True,
    },
    "Qwen2.5-7B": {
        "hidden_size": 3584, "intermediate_size": 18944, "num_attention_heads": 28, "num_key_value_heads": 4,
        "vocab_size": 152064, "tie_word_embeddings": False,
    },
}  # fmt: skip
SMALL, SEVEN = "Qwen2.5-1.5B", "Qwen2.5-7B"


def write_models(folder: Path) -> dict[str, str]:
    """Write the models' configurations, without weights, and return their folders."""
    out = {}
    for name, sizes in QWEN.items():
        (folder / name).mkdir()
        settings = {"architectures": ["Qwen2ForCausalLM"], "model_type": "qwen2", "num_hidden_layers": 28, **sizes}
        (folder / name / "config.json").write_text(json.dumps(settings))
        out[name] = str(folder / name)
    return out


def recipe(file: str | Path, folders: dict[str, str], **changes: Any) -> RunConfig:
    """Return a shipped run with the local model of its size and other changes."""
    path = Path(f"configs/runs/{file}.toml") if isinstance(file, str) else file
    name = SEVEN if "7b" in path.stem else SMALL
    return load_run_config(path, {"model.path": folders[name], **changes})
