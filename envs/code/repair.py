"""Programs to repair: small projects written for Cairn, with faults drawn by a seed.

A project is a folder in `projects`. It has a README with the specification, a package of a few modules, tests that the
agent sees (`visible`), tests that judge (`hidden`), faults made by hand, and the mutants that fail a hidden test
(`vetted.json`, written by ``python -m cairn.benchmarks.vet_repairs``). `break_project` draws from both kinds of faults.

This module runs no code: the script has checked that hidden tests detect each fault. Two faults together could in
principle cancel each other; the script checks that too.

>>> broken = break_project(load_project("inventory"), seed=3)
>>> broken.restored() == dict(load_project("inventory").files)
True
"""

from __future__ import annotations

import json
import random
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from cairn.core.errors import CairnError, UnknownNameError
from cairn.core.seeding import python_generator

VERSION = 1  # changes whenever a seed draws other faults
FOLDER = Path(__file__).parent / "projects"
COLUMNS = ("file", "operator", "line", "start", "old", "new", "visible")  # of the rows of mutants in vetted.json
BY_HAND = "by-hand/"  # prefix of the operator of a fault made by hand
_NUM_FAULTS = (1, 2, 2, 3)  # drawn uniformly: two faults are twice as likely
_SHARE_BY_HAND = 0.5  # of seeds with a fault made by hand
_SHARE_VISIBLE = 0.5  # of seeds with a fault that a visible test detects


@dataclass(frozen=True, kw_only=True, slots=True)
class Edit:
    """One replacement in a file; positions are those in the original text."""

    path: str  # within the project
    start: int  # in characters
    line: int  # from 1
    old: str  # the original text
    new: str

    @property
    def end(self) -> int:
        """End of the replaced piece in the original text."""
        return self.start + len(self.old)

    def shares_line(self, other: Edit) -> bool:
        """Return whether two edits touch the same line, so that at most one of them can be made."""
        last, other_last = self.line + self.old.count("\n"), other.line + other.old.count("\n")
        return self.path == other.path and self.line <= other_last and other.line <= last


@dataclass(frozen=True, kw_only=True, slots=True)
class Fault:
    """One fault: edits that belong together."""

    operator: str  # of `mutations`, or BY_HAND and the fault's name
    edits: tuple[Edit, ...]
    is_visible: bool  # whether a visible test detects it; a hidden test always does

    def clashes(self, other: Fault) -> bool:
        """Return whether two faults cannot be made together."""
        return any(mine.shares_line(theirs) for mine in self.edits for theirs in other.edits)


@dataclass(frozen=True, kw_only=True)
class RepairProject:
    """A correct program, its tests, and its possible faults."""

    name: str
    readme: str  # the specification
    files: Mapping[str, str]  # path -> text, of the package only
    visible: str  # tests/visible.py
    hidden: str  # tests/hidden.py
    by_hand: tuple[Fault, ...]
    mutants: tuple[Fault, ...]  # one edit each

    @property
    def faults(self) -> tuple[Fault, ...]:
        """All faults, those made by hand first."""
        return self.by_hand + self.mutants


@dataclass(frozen=True, kw_only=True, slots=True)
class SourceChange:
    """One change of a file, with positions in the broken text, so that an oracle can undo it."""

    path: str
    line: int  # from 1
    start: int  # in characters
    operator: str
    broken: str  # the current text
    original: str


@dataclass(frozen=True, kw_only=True)
class Broken:
    """A project with faults."""

    project: str
    seed: int
    files: Mapping[str, str]  # path -> text, including files without a fault
    changes: tuple[SourceChange, ...]  # sorted by path and position

    def restored(self) -> dict[str, str]:
        """Return the files with every change undone."""
        files = dict(self.files)
        for change in reversed(self.changes):
            text = files[change.path]
            files[change.path] = text[: change.start] + change.original + text[change.start + len(change.broken) :]
        return files


def projects() -> tuple[str, ...]:
    """Return the names of all projects, sorted."""
    return tuple(sorted(file.parent.name for file in FOLDER.glob("*/faults.toml")))


@cache
def load_project(name: str) -> RepairProject:
    """Return a project.

    Raises:
        UnknownNameError: no project has this name.
    """
    files = sources(name)
    vetted = json.loads((FOLDER / name / "vetted.json").read_text(encoding="utf-8"))
    visible = vetted["by_hand"]
    by_hand = tuple(
        Fault(operator=BY_HAND + fault, edits=edits, is_visible=visible[fault])
        for fault, edits in faults_by_hand(name).items()
    )
    return RepairProject(
        name=name,
        readme=(FOLDER / name / "README.md").read_text(encoding="utf-8"),
        files=files,
        visible=(FOLDER / name / "tests" / "visible.py").read_text(encoding="utf-8"),
        hidden=(FOLDER / name / "tests" / "hidden.py").read_text(encoding="utf-8"),
        by_hand=by_hand,
        mutants=tuple(_mutant(**dict(zip(COLUMNS, row, strict=True))) for row in vetted["mutants"]),
    )


def sources(name: str) -> dict[str, str]:
    """Return the files of a project's package by path.

    Raises:
        UnknownNameError: no project has this name.
    """
    if name not in projects():
        raise UnknownNameError("project", name, projects(), "cairn envs list code --tasks")
    found = sorted((FOLDER / name).rglob("*.py"))
    paths = [(file, file.relative_to(FOLDER / name)) for file in found]
    return {path.as_posix(): file.read_text(encoding="utf-8") for file, path in paths if path.parts[0] != "tests"}


def faults_by_hand(name: str) -> dict[str, tuple[Edit, ...]]:
    """Return the edits of a project's faults made by hand, by the fault's name.

    Raises:
        CairnError: a text to replace does not occur exactly once.
    """
    files = sources(name)
    listed = tomllib.loads((FOLDER / name / "faults.toml").read_text(encoding="utf-8"))["fault"]
    return {fault["name"]: tuple(_edit(name, files, **edit) for edit in fault["edit"]) for fault in listed}


def break_project(project: RepairProject, seed: int) -> Broken:
    """Return the project with the faults that the seed draws."""
    return apply_faults(project.name, project.files, draw_faults(project, seed), seed)


def draw_faults(project: RepairProject, seed: int) -> tuple[Fault, ...]:
    """Return one to three faults, no two of them on one line."""
    rng = python_generator("code/repair", VERSION, project.name, seed)
    num_faults = rng.choice(_NUM_FAULTS)
    is_by_hand = rng.random() < _SHARE_BY_HAND
    is_visible = rng.random() < _SHARE_VISIBLE
    chosen: list[Fault] = []
    for turn in range(num_faults):
        pool = project.by_hand if is_by_hand and turn == 0 else project.mutants
        fitting = [fault for fault in pool if not any(fault.clashes(other) for other in chosen)]
        # If visible tests should detect a fault, the first one suffices; if they should not, all must be hidden.
        alike = [fault for fault in fitting if fault.is_visible == is_visible or (is_visible and turn > 0)]
        chosen.append(_drawn(rng, alike or fitting))
    return tuple(chosen)


def apply_faults(name: str, files: Mapping[str, str], faults: Sequence[Fault], seed: int = 0) -> Broken:
    """Return a project's files with these faults; no two of them may clash."""
    broken = dict(files)
    changes = []
    edits = [(edit, fault.operator) for fault in faults for edit in fault.edits]
    shifts = dict.fromkeys(files, 0)
    for edit, operator in sorted(edits, key=lambda pair: (pair[0].path, pair[0].start)):
        text, start = broken[edit.path], edit.start + shifts[edit.path]
        broken[edit.path] = text[:start] + edit.new + text[start + len(edit.old) :]
        shifts[edit.path] += len(edit.new) - len(edit.old)
        line = text.count("\n", 0, start) + 1
        changes.append(
            SourceChange(path=edit.path, line=line, start=start, operator=operator, broken=edit.new, original=edit.old)
        )
    return Broken(project=name, seed=seed, files=broken, changes=tuple(changes))


def _drawn(rng: random.Random, faults: Sequence[Fault]) -> Fault:
    """Draw an operator, then a fault, so that operators with many mutants do not dominate."""
    operator = rng.choice(sorted({fault.operator for fault in faults}))
    return rng.choice([fault for fault in faults if fault.operator == operator])


def _edit(name: str, files: Mapping[str, str], file: str, old: str, new: str) -> Edit:
    text = files.get(file, "")
    if text.count(old) != 1:
        raise CairnError(f"project {name}: expected once in {file!r}, found {text.count(old)} times: {old!r}")
    start = text.index(old)
    return Edit(path=file, start=start, line=text.count("\n", 0, start) + 1, old=old, new=new)


def _mutant(*, file: str, operator: str, line: int, start: int, old: str, new: str, visible: bool) -> Fault:
    edit = Edit(path=file, start=start, line=line, old=old, new=new)
    return Fault(operator=operator, edits=(edit,), is_visible=visible)
