"""Finds the faults of the repair projects that their tests detect, and stores them (Linux).

``python -m cairn.benchmarks.vet_repairs [PROJECT ...]`` writes `vetted.json` of each project: every mutant that fails a
hidden test while the package can still be imported, and for these and the manual faults whether a visible test fails
too. Then it breaks each project with the first seeds and counts the results that no hidden test detects because two
faults cancel out. It prints one line per project, and exits with status 1 on any complaint.

Each fault runs in a forked process with limits of `LIMIT_S` seconds and `LIMIT_CPU_S` seconds of processor time; slower
faults are left out, because each test of a repair would take as long. The faults are small and trusted: this is not a
sandbox.
"""

from __future__ import annotations

import importlib.util
import json
import multiprocessing
import os
import resource
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from multiprocessing.connection import Connection
from pathlib import Path
from types import ModuleType

from cairn.envs.code.mutations import applied, mutants
from cairn.envs.code.repair import (
    COLUMNS,
    FOLDER,
    Fault,
    apply_faults,
    break_project,
    faults_by_hand,
    load_project,
    projects,
    sources,
)

LIMIT_S = 5.0
LIMIT_CPU_S = 1  # complete tests need a few hundredths: a process that reaches the limit is in an infinite loop
MEMORY_BYTES = 1 << 30
LEAST_MUTANTS = 40  # minimum per project
NUM_SEEDS = 100  # broken versions that are tested at the end

Row = tuple[str, str, int, int, str, str, bool]  # COLUMNS


@dataclass(frozen=True, kw_only=True)
class SuiteVerdict:
    """The test results of a package; `hung`: time limit exceeded, or the process died."""

    imports: bool = False
    hidden_failure: str = ""  # name of the first failed hidden test
    visible_failure: str = ""
    hung: bool = False

    @property
    def is_noticed(self) -> bool:
        """Whether a hidden test fails and the package can be imported."""
        return self.imports and not self.hung and bool(self.hidden_failure)

    @property
    def is_sound(self) -> bool:
        """Whether the package can be imported and all tests pass."""
        return self.imports and not (self.hung or self.hidden_failure or self.visible_failure)


def main(names: list[str]) -> int:
    """Vet the named projects, or all, and return the exit status."""
    sys.dont_write_bytecode = True  # Python would use stale bytecode for a file that changes within a second
    faults = 0
    for name in names or projects():
        with bench(name) as judge:
            complaints = [*vet(name, judge), *count_unnoticed(name, judge)]
        faults += len(complaints)
        print(*(f"  {complaint}" for complaint in complaints), sep="\n", end="\n" if complaints else "")
    return 1 if faults else 0


def vet(name: str, judge: Callable[[Mapping[str, str]], SuiteVerdict]) -> Iterator[str]:
    """Write `vetted.json` of a project and print its counts; yield complaints."""
    files = sources(name)
    if not (verdict := judge(files)).is_sound:
        yield f"the original fails: {verdict}"
    by_hand: dict[str, bool] = {}
    for fault, edits in faults_by_hand(name).items():
        verdict = judge(apply_faults(name, files, [Fault(operator=fault, edits=edits, is_visible=False)]).files)
        by_hand[fault] = bool(verdict.visible_failure)
        if not verdict.is_noticed:
            yield f"no hidden test notices {fault}: {verdict}"
    rows, num_tried, num_hung = vetted_mutants(files, judge)
    if len(rows) < LEAST_MUTANTS:
        yield f"{len(rows)} mutants are noticed, at least {LEAST_MUTANTS} expected"
    write(FOLDER / name / "vetted.json", by_hand, rows)
    num_visible = sum(row[-1] for row in rows)
    print(
        f"{name}: {len(by_hand)} faults by hand ({sum(by_hand.values())} visible), "
        f"{len(rows)} of {num_tried} mutants ({num_visible} visible), {num_hung} hung",
        flush=True,
    )


def vetted_mutants(
    files: Mapping[str, str], judge: Callable[[Mapping[str, str]], SuiteVerdict]
) -> tuple[list[Row], int, int]:
    """Return the detected mutants, the number of tried ones, and the number of hung ones."""
    rows: list[Row] = []
    num_tried = num_hung = 0
    for path, text in files.items():
        for mutant in mutants(text):
            verdict = judge({**files, path: applied(text, mutant)})
            num_tried += 1
            num_hung += verdict.hung
            if verdict.is_noticed:
                old, is_visible = text[mutant.start : mutant.end], bool(verdict.visible_failure)
                rows.append((path, mutant.operator, mutant.line, mutant.start, old, mutant.text, is_visible))
    return rows, num_tried, num_hung


def count_unnoticed(name: str, judge: Callable[[Mapping[str, str]], SuiteVerdict]) -> Iterator[str]:
    """Break a project with the first seeds; yield those whose faults cancel out or hang."""
    load_project.cache_clear()
    project = load_project(name)
    for seed in range(NUM_SEEDS):
        broken = break_project(project, seed)
        if not (verdict := judge(broken.files)).is_noticed:
            changes = [(change.path, change.line, change.operator) for change in broken.changes]
            yield f"seed {seed}: {verdict}, {changes}"


def write(file: Path, by_hand: Mapping[str, bool], rows: list[Row]) -> None:
    """Write the results, one mutant per line."""
    lines = ",\n".join("    " + json.dumps(row, ensure_ascii=False) for row in rows)
    head = f'{{\n  "by_hand": {json.dumps(by_hand)},\n  "columns": {json.dumps(COLUMNS)},\n'
    file.write_text(f'{head}  "mutants": [\n{lines}\n  ]\n}}\n', encoding="utf-8")


@contextmanager
def bench(name: str) -> Iterator[Callable[[Mapping[str, str]], SuiteVerdict]]:
    """Yield a function that tests versions of a project's files in a temporary folder."""
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place) / name
        shutil.copytree(FOLDER / name / "tests", folder / "tests", ignore=shutil.ignore_patterns("__pycache__"))

        def judge(files: Mapping[str, str]) -> SuiteVerdict:
            for path, text in files.items():
                file = folder / path
                file.parent.mkdir(parents=True, exist_ok=True)
                file.write_text(text, encoding="utf-8")
            return _in_child(folder, list(files))

        yield judge


def _in_child(folder: Path, paths: list[str]) -> SuiteVerdict:
    context = multiprocessing.get_context("fork")
    ours, theirs = context.Pipe(duplex=False)
    child = context.Process(target=_judge, args=(theirs, folder, paths))
    child.start()
    theirs.close()
    try:
        return SuiteVerdict(**ours.recv()) if ours.poll(LIMIT_S) else SuiteVerdict(hung=True)
    except EOFError:  # the process died before its answer
        return SuiteVerdict(hung=True)
    finally:
        child.kill()
        child.join()
        ours.close()


def _judge(answer: Connection, folder: Path, paths: list[str]) -> None:
    resource.setrlimit(resource.RLIMIT_DATA, (MEMORY_BYTES, MEMORY_BYTES))
    resource.setrlimit(resource.RLIMIT_CPU, (LIMIT_CPU_S, LIMIT_CPU_S))
    with open(os.devnull, "w") as nowhere:
        os.dup2(nowhere.fileno(), 1)
        os.dup2(nowhere.fileno(), 2)
    sys.path.insert(0, str(folder))
    try:
        for path in paths:
            importlib.import_module(path.removesuffix(".py").removesuffix("/__init__").replace("/", "."))
    except Exception:  # noqa: BLE001  a fault may raise anything
        answer.send({"imports": False})
        return
    failures = {f"{suite}_failure": _first_failure(folder / "tests" / f"{suite}.py") for suite in ("hidden", "visible")}
    answer.send({"imports": True, **failures})


def _first_failure(file: Path) -> str:
    """Return the name of a file's first failed test, or "" if all pass."""
    name = ""
    try:
        tests = _module(file)
        for name, test in vars(tests).items():
            if name.startswith("test_"):
                test()
    except Exception:  # noqa: BLE001  as above
        return name or "import"
    return ""


def _module(file: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location(f"suite_{file.stem}", file)
    assert spec is not None  # the file exists
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
