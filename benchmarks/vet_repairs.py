"""Finds out which faults of the repair projects their tests notice, and writes it down (Linux).

``python -m cairn.benchmarks.vet_repairs [PROJECT ...]`` writes `vetted.json` of each project: every mutant that fails a
hidden test while the package still imports, and for those and the faults made by hand whether a visible test fails too.
Then it breaks each project by the first seeds and counts how many results no hidden test notices, because two faults
undo each other. It prints one line a project, and ends with status 1 if anything is not as it should be.

Each fault is tried in a forked process that gets `LIMIT_S` seconds and `LIMIT_CPU_S` of a processor; what takes longer
is left out, since it would take as long whenever a repair is judged. The faults are ours and small: this is no sandbox.
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
LIMIT_CPU_S = 1  # of which whole tests need a few hundredths: what reaches it loops for ever
MEMORY_BYTES = 1 << 30
LEAST_MUTANTS = 40  # of a project
NUM_SEEDS = 100  # broken and tried at the end

Row = tuple[str, str, int, int, str, str, bool]  # COLUMNS


@dataclass(frozen=True, kw_only=True)
class SuiteVerdict:
    """What tests say about a package; `hung` where they did not end in time or their process died."""

    imports: bool = False
    hidden_failure: str = ""  # the first hidden test that fails
    visible_failure: str = ""
    hung: bool = False

    @property
    def is_noticed(self) -> bool:
        """Whether a hidden test fails while the package imports."""
        return self.imports and not self.hung and bool(self.hidden_failure)

    @property
    def is_sound(self) -> bool:
        """Whether everything is right."""
        return self.imports and not (self.hung or self.hidden_failure or self.visible_failure)


def main(names: list[str]) -> int:
    """Vet projects, all unless some are named; return the exit status."""
    sys.dont_write_bytecode = True  # a file that changes within a second would be taken for its old self
    faults = 0
    for name in names or projects():
        with bench(name) as judge:
            complaints = [*vet(name, judge), *count_unnoticed(name, judge)]
        faults += len(complaints)
        print(*(f"  {complaint}" for complaint in complaints), sep="\n", end="\n" if complaints else "")
    return 1 if faults else 0


def vet(name: str, judge: Callable[[Mapping[str, str]], SuiteVerdict]) -> Iterator[str]:
    """Write `vetted.json` of a project and print its counts; yield what is wrong."""
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
    """Return the mutants that are noticed, how many were tried, and how many hung."""
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
    """Break a project by the first seeds; yield those whose faults undo each other, or do not end together."""
    load_project.cache_clear()
    project = load_project(name)
    for seed in range(NUM_SEEDS):
        broken = break_project(project, seed)
        if not (verdict := judge(broken.files)).is_noticed:
            changes = [(change.path, change.line, change.operator) for change in broken.changes]
            yield f"seed {seed}: {verdict}, {changes}"


def write(file: Path, by_hand: Mapping[str, bool], rows: list[Row]) -> None:
    """Write what was found, one mutant a line."""
    lines = ",\n".join("    " + json.dumps(row, ensure_ascii=False) for row in rows)
    head = f'{{\n  "by_hand": {json.dumps(by_hand)},\n  "columns": {json.dumps(COLUMNS)},\n'
    file.write_text(f'{head}  "mutants": [\n{lines}\n  ]\n}}\n', encoding="utf-8")


@contextmanager
def bench(name: str) -> Iterator[Callable[[Mapping[str, str]], SuiteVerdict]]:
    """Give a function that judges versions of a project's files, in a folder of their own."""
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
    except EOFError:  # it died before it could answer
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
    """Return the name of the first test of a file that fails, "" if none does."""
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
    assert spec is not None  # the file is there
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
