"""Properties of every repair project: correct as shipped, wrong with each fault, equal for a seed in any process."""

from __future__ import annotations

import ast
import itertools
import json
import os
import random
import subprocess
import sys
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import NamedTuple

import pytest

from cairn.core.errors import CairnError, UnknownNameError
from cairn.envs.code import repair
from cairn.envs.code.mutations import OPERATORS, mutants
from cairn.envs.code.repair import (
    BY_HAND,
    FOLDER,
    Broken,
    Edit,
    Fault,
    RepairProject,
    apply_faults,
    break_project,
    draw_faults,
    load_project,
    projects,
)
from tests.sampling import sampled_params

pytestmark = pytest.mark.rotating(3)

NAMES = projects()
SEEDS = range(500)
MUTANTS_TRIED = 2  # of each project; `benchmarks/vet_repairs.py` tries all
every_project = pytest.mark.parametrize("name", sampled_params(NAMES, parts=3))

# Runs both files of tests in a process that knows nothing but the project; prints which of them fail.
RUN = """
import importlib.util, json, sys
folder = sys.argv[1]
sys.path.insert(0, folder)
failed = {"visible": [], "hidden": []}
for suite in failed:
    spec = importlib.util.spec_from_file_location(suite, f"{folder}/tests/{suite}.py")
    tests = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(tests)
    for name, test in list(vars(tests).items()):
        if name.startswith("test_"):
            try:
                test()
            except Exception as error:
                failed[suite].append(f"{name}: {error!r}")
print(json.dumps(failed))
"""


class Failures(NamedTuple):
    """The tests that fail, with their errors."""

    visible: list[str]
    hidden: list[str]


def failures(folder: Path, project: RepairProject, files: Mapping[str, str]) -> Failures:
    for path, text in {**files, "tests/visible.py": project.visible, "tests/hidden.py": project.hidden}.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text, encoding="utf-8")
    command = [sys.executable, "-I", "-S", "-B", "-c", RUN, str(folder)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=30)
    assert done.returncode == 0, done.stderr
    return Failures(**json.loads(done.stdout))


def assert_noticed(folder: Path, project: RepairProject, fault: Fault) -> None:
    """A hidden test fails, and a visible one if and only if it was written down so."""
    failed = failures(folder, project, apply_faults(project.name, project.files, [fault]).files)
    assert failed.hidden, fault
    assert bool(failed.visible) == fault.is_visible, fault


@cache
def drawn(name: str) -> tuple[Broken, ...]:
    """Return the tasks that the seeds draw from a project."""
    return tuple(break_project(load_project(name), seed) for seed in SEEDS)


def suite(source: str) -> list[ast.FunctionDef]:
    functions = [node for node in ast.parse(source).body if isinstance(node, ast.FunctionDef)]
    return [function for function in functions if function.name.startswith("test_")]


# -- projects --------------------------------------------------------------------------------------------------------


def test_there_are_projects_enough() -> None:
    assert len(NAMES) >= 12
    assert {folder.name for folder in FOLDER.iterdir() if folder.is_dir()} == set(NAMES)


@every_project
def test_a_project_has_its_size(name: str) -> None:
    project = load_project(name)
    packages = {path.split("/")[0] for path in project.files}
    assert len(packages) == 1
    assert not packages & set(sys.stdlib_module_names)
    assert 3 <= len([path for path in project.files if not path.endswith("__init__.py")]) <= 6
    assert 120 <= sum(len(text.splitlines()) for text in project.files.values()) <= 330
    assert 5 <= len(suite(project.visible)) <= 8
    assert 12 <= len(suite(project.hidden)) <= 20
    assert len(project.by_hand) >= 3
    assert any(len({edit.path for edit in fault.edits}) > 1 for fault in project.by_hand)
    assert len(project.mutants) >= 40
    assert project.readme.startswith("# ")


@every_project
def test_modules_import_one_another_and_nothing_that_chance_or_the_machine_decides(name: str) -> None:
    project = load_project(name)
    package = next(iter(project.files)).split("/")[0]
    allowed = {package, "re", "math", "heapq", "operator", "itertools", "functools", "collections", "dataclasses"}
    of_its_own = 0
    for path, text in project.files.items():
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, (ast.Import, ast.ImportFrom)):
                module = node.module or "" if isinstance(node, ast.ImportFrom) else node.names[0].name
                assert module.split(".")[0] in allowed, path
                of_its_own += module.split(".")[0] == package
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
                assert node.func.id not in ("open", "print", "input", "hash", "id", "eval", "exec"), path
    assert of_its_own >= 2


@every_project
def test_tests_use_only_questions_that_another_process_can_answer(name: str) -> None:
    """No lambdas and no classes of their own, no questions about types or sources."""
    project = load_project(name)
    assert not {test.name for test in suite(project.visible)} & {test.name for test in suite(project.hidden)}
    for source in (project.visible, project.hidden):
        tree = ast.parse(source)
        for node in ast.walk(tree):
            assert not isinstance(node, (ast.Lambda, ast.ClassDef, ast.AsyncFunctionDef, ast.With, ast.Global))
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
                assert node.func.id not in ("isinstance", "issubclass", "type", "id", "open", "print", "vars")
            if isinstance(node, (ast.Import, ast.ImportFrom)):
                module = node.module or "" if isinstance(node, ast.ImportFrom) else node.names[0].name
                assert any(path.startswith(module.replace(".", "/")) for path in project.files)
        for test in suite(source):
            assert not test.args.args
            assert not test.decorator_list


# -- right as it is, wrong with each fault -----------------------------------------------------------------------------


@every_project
def test_a_project_passes_its_own_tests(name: str, tmp_path: Path) -> None:
    project = load_project(name)
    assert failures(tmp_path, project, project.files) == Failures([], [])


@every_project
def test_every_fault_by_hand_is_noticed(name: str, tmp_path: Path) -> None:
    project = load_project(name)
    for fault in project.by_hand:
        assert_noticed(tmp_path, project, fault)


@every_project
def test_some_mutants_are_noticed_as_it_was_written_down(name: str, tmp_path: Path) -> None:
    project = load_project(name)
    for fault in random.Random(name).sample(project.mutants, MUTANTS_TRIED):
        assert_noticed(tmp_path, project, fault)


@every_project
def test_stored_mutants_match_the_files_of_the_project(name: str) -> None:
    """Every mutant fits its file; those of the largest file equal the mutants that the operators make of it today."""
    project = load_project(name)
    kept = [(fault.operator, edit) for fault in project.mutants for edit in fault.edits]
    assert len(set(kept)) == len(kept)
    assert len({operator for operator, _ in kept}) >= 8
    for _, edit in kept:
        text = project.files[edit.path]
        assert text[edit.start : edit.end] == edit.old != edit.new
        assert text.count("\n", 0, edit.start) + 1 == edit.line
    path, text = max(project.files.items(), key=lambda pair: len(pair[1]))
    made = {(each.operator, each.start, each.end, each.text) for each in mutants(text)}
    of_path = {(operator, edit.start, edit.end, edit.new) for operator, edit in kept if edit.path == path}
    assert of_path <= made


# -- broken by a seed --------------------------------------------------------------------------------------------------


@every_project
def test_every_seed_breaks_and_can_be_restored(name: str) -> None:
    project = load_project(name)
    for seed, broken in enumerate(drawn(name)):
        assert broken.seed == seed
        assert broken.files.keys() == project.files.keys()
        assert dict(broken.files) != dict(project.files)
        assert broken.restored() == dict(project.files)
        for change in broken.changes:
            text = broken.files[change.path]
            assert text[change.start : change.start + len(change.broken)] == change.broken
            assert text.count("\n", 0, change.start) + 1 == change.line


@every_project
def test_broken_files_can_still_be_parsed(name: str) -> None:
    for broken in drawn(name)[::20]:
        for path in {change.path for change in broken.changes}:
            ast.parse(broken.files[path])


@every_project
def test_seeds_draw_all_kinds(name: str) -> None:
    project, broken = load_project(name), drawn(name)
    num_by_hand = sum(any(change.operator.startswith(BY_HAND) for change in each.changes) for each in broken)
    assert 0.4 < num_by_hand / len(broken) < 0.6
    assert {len({change.operator for change in each.changes}) for each in broken} == {1, 2, 3}
    operators = {change.operator for each in broken for change in each.changes}
    assert operators == {fault.operator for fault in project.faults}
    assert len({tuple(each.files.values()) for each in broken}) > 0.7 * len(broken)


def test_about_half_of_the_seeds_are_noticed_by_a_visible_test() -> None:
    seen = [
        any(fault.is_visible for fault in draw_faults(load_project(name), seed))
        for name in NAMES
        for seed in SEEDS[:100]
    ]
    assert 0.4 < sum(seen) / len(seen) < 0.6


def test_a_seed_is_the_same_in_another_process_under_another_hash_seed() -> None:
    code = (
        "import json; from cairn.envs.code.repair import *;"
        "print(json.dumps([[dict(b.files), [(c.path, c.start, c.operator) for c in b.changes]]"
        " for p in map(load_project, projects()) for b in (break_project(p, s) for s in range(5))]))"
    )
    found = {
        subprocess.run(
            [sys.executable, "-c", code],
            capture_output=True,
            text=True,
            check=True,
            env={**os.environ, "PYTHONHASHSEED": hash_seed},
        ).stdout
        for hash_seed in ("1", "2")
    }
    here = [break_project(project, seed) for project in map(load_project, NAMES) for seed in range(5)]
    assert [json.loads(each) for each in found] == [[_plain(broken) for broken in here]]


def _plain(broken: Broken) -> list[object]:
    return [dict(broken.files), [[change.path, change.start, change.operator] for change in broken.changes]]


def test_global_chance_is_left_alone() -> None:
    random.seed(5)
    expected = random.Random(5).random()
    break_project(load_project(NAMES[0]), 3)
    assert random.random() == expected


# -- a small text broken by hand, and rejected faults ------------------------------------------------------------------

TEXT = {"p/a.py": "one\ntwo two\nthree\n", "p/b.py": "four\n"}


def fault(*edits: tuple[str, int, int, str, str]) -> Fault:
    return Fault(
        operator="x",
        edits=tuple(Edit(path=path, start=start, line=line, old=old, new=new) for path, start, line, old, new in edits),
        is_visible=False,
    )


def test_changes_have_the_places_of_the_broken_text() -> None:
    first = fault(("p/a.py", 12, 3, "three", "3"), ("p/b.py", 0, 1, "four", ""))
    second = fault(("p/a.py", 0, 1, "one", "1\n1"))
    broken = apply_faults("p", TEXT, [first, second], seed=9)
    assert broken.files == {"p/a.py": "1\n1\ntwo two\n3\n", "p/b.py": "\n"}
    assert [(each.path, each.line, each.start, each.broken) for each in broken.changes] == [
        ("p/a.py", 1, 0, "1\n1"),
        ("p/a.py", 4, 12, "3"),
        ("p/b.py", 1, 0, ""),
    ]
    assert broken.restored() == TEXT


def test_faults_clash_on_one_line_of_one_file() -> None:
    left, right = fault(("p/a.py", 4, 2, "two", "2")), fault(("p/a.py", 8, 2, "two", "2"))
    above, whole = fault(("p/a.py", 0, 1, "one", "1")), fault(("p/a.py", 0, 1, "one\ntwo", "2"))
    elsewhere = fault(("p/b.py", 4, 2, "two", "2"))
    clashing = {(a, b) for a, b in itertools.combinations([left, right, above, whole, elsewhere], 2) if a.clashes(b)}
    assert clashing == {(left, right), (left, whole), (right, whole), (above, whole)}


def test_no_project_of_that_name() -> None:
    with pytest.raises(UnknownNameError, match=f"Did you mean '{NAMES[0]}'"):
        load_project(NAMES[0] + "s")


def test_a_fault_that_no_longer_fits_its_file_raises_an_error(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "p" / "p").mkdir(parents=True)
    (tmp_path / "p" / "p" / "a.py").write_text("a = 1\na = 1\n")
    (tmp_path / "p" / "faults.toml").write_text(
        '[[fault]]\nname = "n"\nsummary = "s"\n[[fault.edit]]\nfile = "p/a.py"\nold = "a = 1"\nnew = "a = 2"\n'
    )
    monkeypatch.setattr(repair, "FOLDER", tmp_path)
    with pytest.raises(CairnError, match=r"expected once in 'p/a.py', found 2 times: 'a = 1'"):
        repair.faults_by_hand("p")


def test_operators_of_mutants_are_known() -> None:
    assert {fault.operator for name in NAMES for fault in load_project(name).mutants} <= set(OPERATORS)
