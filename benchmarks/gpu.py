"""`make gpu`: the tests and measurements that need a GPU, on a machine that may have no network and few packages.

Needs Python 3.11, torch 2.11 for CUDA, transformers and a C compiler. Other packages are installed into `.gpu`: from
wheels in `.gpu/wheels` (`make gpu-wheels` downloads them), or from the registry. torch, triton and numpy are never
installed.

Each part runs in a process of its own, ends within its time limit, and prints JSON lines: a measurement, or why it was
skipped. The last line is for docs/log.md. Only the standard library is imported before the packages are there.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import re
import shutil
import subprocess
import sys
import time
import tomllib
from collections.abc import Iterable, Iterator, Sequence
from importlib import metadata
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PARTS = {"env": 30.0, "tests": 150.0, "train": 170.0, "rollout": 120.0}  # time limits in seconds: 470 in all
NEVER = {"torch", "triton", "numpy"}  # a machine's own are built for its GPU
# What the project and its tests need beyond its own list, and what these packages need that images with torch and
# transformers lack.
PACKAGES = (
    *("annotated-types", "attrs", "defusedxml", "farama-notifications", "httpcore2", "hypothesis", "idna"),
    *("jsonschema-specifications", "psutil", "pydantic-core", "pytest", "pytest-timeout", "referencing", "rpds-py"),
    *("sortedcontainers", "truststore", "typing-extensions", "typing-inspection"),
)
CARRIED = (  # of the project's own list, those that images usually lack
    *("docstring-parser", "gymnasium", "httpx2", "jsonschema", "nltk", "pydantic", "rapidfuzz", "starlette"),
    *("uvicorn", "xxhash"),
)
PLATFORMS = ("manylinux_2_28_x86_64", "manylinux_2_17_x86_64", "any")
TEST_FILES = (  # those with tests marked `gpu`
    "tests/agents/backends/test_hf.py",
    "tests/agents/models/test_packed_attention.py",
    "tests/benchmarks/test_utilisation.py",
)
NO_DEVICE = "no CUDA device"
_NAME = re.compile(r"^[A-Za-z0-9._-]+")

Line = dict[str, object]


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the parts; return 1 if one failed, or missed a bar."""
    parser = argparse.ArgumentParser(prog="make gpu", description=__doc__)
    parser.add_argument("--part", choices=PARTS, help="one part, in this process; default: all")
    parser.add_argument("--folder", type=Path, default=ROOT / ".gpu", help="of wheels, packages and results")
    parser.add_argument("--limit-s", type=float, help="seconds of each part; default: its own limit")
    parser.add_argument(
        "--tiny", action="store_true", help="tiny models on the CPU, without bars: a test of this script"
    )
    parser.add_argument("--download", metavar="PYTHON", help="only download wheels for this version of Python")
    given = parser.parse_args(arguments)
    if given.download:
        return download(given.folder / "wheels", given.download)
    if given.part:
        for line in _part(given.part, given.tiny):
            _print(line)
        return 0
    given.folder.mkdir(parents=True, exist_ok=True)
    packages = given.folder / "packages"
    lines = [{"part": "packages", **install(given.folder / "wheels", packages)}]
    _print(lines[0])
    for part, limit_s in PARTS.items():
        lines += _in_process(part, packages, given.limit_s or limit_s, given.tiny)
    (given.folder / "results.json").write_text(json.dumps(lines, indent=1) + "\n", encoding="utf-8")
    print(log_line(lines), flush=True)
    return int(any("failed" in line or line.get("holds") is False for line in lines))


# -- packages ----------------------------------------------------------------------------------------------------------


def install(wheels: Path, target: Path) -> Line:
    """Install what this machine lacks into `target`, and return what was installed and what is still missing.

    From `wheels` if that folder has any, without looking at dependencies; else from the registry, with pinned versions.
    """
    needed = missing()
    files = sorted(wheels.glob("*.whl"))
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--target", str(target), "--upgrade"]
    if files:
        chosen = [str(file) for file in files if _distribution(file.name) not in NEVER]
        ended = subprocess.run([*pip, "--no-index", "--no-deps", *chosen], capture_output=True, text=True, check=False)
    elif needed:
        pins = ["--retries", "0", "--timeout", "15", "-c", str(ROOT / "constraints.txt"), "--no-deps"]
        ended = subprocess.run([*pip, *pins, *needed], capture_output=True, text=True, check=False)
    else:
        return {"missing": []}
    return {
        "missing": [name for name in needed if not _is_in(target, name)],
        "source": "wheels" if files else "registry",
        **({"error": ended.stderr.strip().splitlines()[-1:]} if ended.returncode else {}),
    }


def download(wheels: Path, python: str) -> int:
    """Download the wheels that another machine needs, with pinned versions; return pip's exit status."""
    platforms = [f"--platform={platform}" for platform in PLATFORMS]
    options = ["--no-deps", "--only-binary=:all:", f"--python-version={python}", *platforms]
    pins = ["-c", str(ROOT / "constraints.txt"), "-d", str(wheels)]
    command = [sys.executable, "-m", "pip", "download", "--quiet", *options, *pins, *PACKAGES, *CARRIED]
    return subprocess.run(command, check=False).returncode


def missing() -> list[str]:
    """Return the distributions that the project or its tests need and that are not installed."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    wanted = [found[0] for line in project["dependencies"] if (found := _NAME.match(line))]
    return [name for name in (*wanted, *PACKAGES) if name not in NEVER and not _is_installed(name)]


def _is_installed(name: str) -> bool:
    try:
        metadata.version(name)
    except metadata.PackageNotFoundError:
        return False
    return True


def _is_in(target: Path, name: str) -> bool:
    return any(_distribution(found.name) == _distribution(name) for found in target.glob("*.dist-info"))


def _distribution(name: str) -> str:
    """Return the normalized name of a distribution, from its name or from that of a file or folder of it."""
    return re.sub(r"[-_.]+", "_", re.split(r"-\d", name)[0]).lower()


# -- processes ---------------------------------------------------------------------------------------------------------


def _in_process(part: str, packages: Path, limit_s: float, is_tiny: bool) -> list[Line]:
    """Run one part in a process of its own; pass its lines on."""
    paths = [str(packages), str(ROOT / "src"), str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])]
    command = [sys.executable, "-m", "cairn.benchmarks.gpu", "--part", part, *(["--tiny"] if is_tiny else [])]
    began = time.monotonic()
    try:
        ended = subprocess.run(
            command,
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(paths)},
            timeout=limit_s,
            check=False,
            cwd=ROOT,
        )
        printed, problem = ended.stdout, f"exit status {ended.returncode}" if ended.returncode else ""
    except subprocess.TimeoutExpired as error:
        printed = error.stdout.decode() if isinstance(error.stdout, bytes) else error.stdout or ""
        problem = f"not finished within {limit_s:g} s"
    lines: list[Line] = [{"part": part, **json.loads(line)} for line in printed.splitlines() if line.startswith("{")]
    lines.append(
        {"part": part, "seconds": round(time.monotonic() - began, 1), **({"failed": problem} if problem else {})}
    )
    for line in lines:
        _print(line)
    return lines


def _print(line: Line) -> None:
    print(json.dumps(line), flush=True)


# -- parts -------------------------------------------------------------------------------------------------------------


def _part(name: str, is_tiny: bool) -> Iterator[Line]:
    import torch

    if name == "env":
        yield _environment()
    elif not is_tiny and not torch.cuda.is_available():
        yield {"skipped": NO_DEVICE}
    elif name == "tests":
        yield _tests(is_tiny)
    else:
        yield from _measured(name, is_tiny)


def _environment() -> Line:
    import torch
    import transformers

    found: Line = {
        "python": platform.python_version(),
        "torch": torch.__version__,
        "transformers": transformers.__version__,
        "compiler": shutil.which("cc") or shutil.which("gcc") or "",
        "card": torch.cuda.get_device_name() if torch.cuda.is_available() else "",
    }
    if found["card"]:
        free, total = torch.cuda.mem_get_info()
        found |= {"free_gb": round(free / 1e9, 1), "total_gb": round(total / 1e9, 1), "driver": _driver()}
    return found


def _driver() -> str:
    program = shutil.which("nvidia-smi")
    if program is None:
        return ""
    ask = [program, "--query-gpu=driver_version", "--format=csv,noheader"]
    return subprocess.run(ask, capture_output=True, text=True, check=False).stdout.strip()


def _tests(is_tiny: bool) -> Line:
    marked = [] if is_tiny else ["-m", "gpu"]
    files = TEST_FILES[2:] if is_tiny else TEST_FILES
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "--timeout", "120", *marked, *files]
    ended = subprocess.run(command, capture_output=True, text=True, check=False, cwd=ROOT)
    summary = next((line for line in reversed(ended.stdout.splitlines()) if " in " in line), "")
    failed = [line for line in ended.stdout.splitlines() if line.startswith("FAILED")]
    return {"tests": summary.strip("= "), **({"failed": failed or ended.stdout[-500:]} if ended.returncode else {})}


def _measured(name: str, is_tiny: bool) -> Iterable[Line]:
    """Return the rows of `cairn bench NAME --gpu`."""
    if name == "train":
        from cairn.benchmarks.train import utilisation

        return utilisation.tiny_rows() if is_tiny else utilisation.rows(quick=False)
    from cairn.benchmarks.rollout import on_gpu

    return on_gpu.rows(is_tiny)


def log_line(lines: Sequence[Line]) -> str:
    """Return one line for docs/log.md: date, machine, command and figures."""
    machine = next((line for line in lines if "torch" in line), {})
    figures = [
        f"{line['name']}: {line['value']:.4g} {line['unit']}" for line in lines if isinstance(line.get("value"), float)
    ]
    tests = next((str(line["tests"]) for line in lines if "tests" in line), "no tests")
    card = machine.get("card") or NO_DEVICE
    versions = f"driver {machine.get('driver', '')}, torch {machine.get('torch', '')}"
    return (
        f"{time.strftime('%Y-%m-%d')} | {card}, {versions} | `make gpu` | {tests}; {'; '.join(figures) or 'no figures'}"
    )


if __name__ == "__main__":
    raise SystemExit(main())
