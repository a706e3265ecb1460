"""Checks of data on disk: benchmark files, and whether a run's file can be read."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from cairn.cli._doctor.finding import DATA, Finding, refused
from cairn.core.errors import CairnError, install_command
from cairn.core.store import RunStore, read

_FOLDERS = (  # below CAIRN_DATA: files of which one suffices, and their users
    ("alfworld", ("*.jsonl.gz",), "household's real games"),
    ("webshop", ("items_shuffle*.json*",), "the web shop's real products"),
    ("humaneval", ("HumanEval.jsonl.gz",), "code, kind humaneval"),
    ("mbpp", ("mbpp.jsonl", "MbppPlus.jsonl.gz"), "code, kinds mbpp and mbpp_plus"),
    ("classeval", ("ClassEval_data.json.gz",), "code, kind classeval"),
    ("quixbugs", ("quixbugs_python.jsonl.gz",), "code, kind quixbugs"),
    ("cruxeval", ("cruxeval.jsonl",), "code, kind cruxeval"),
)


def data() -> Iterator[Finding]:
    """Yield each data set; all are optional, since every environment has tasks without them."""
    root = os.environ.get("CAIRN_DATA")
    yield _root(root)
    for name, patterns, purpose in _FOLDERS:
        folder = Path(root or ".") / name
        files = sorted({file for pattern in patterns for file in folder.glob(pattern)}) if root else []
        found = f"{len(files)} files, for {purpose}" if files else f"no {name}/{patterns[0]}, for {purpose}"
        mend = "" if files else f"{DATA}  # a folder with {name}/{patterns[0]}"
        yield Finding(section="data", what=name, is_well=True if files else None, found=found, mend=mend)
    yield _original()


def _root(root: str | None) -> Finding:
    if root and Path(root).is_dir():
        return Finding(section="data", what="CAIRN_DATA", is_well=True, found=root)
    found = f"{root}: no such folder" if root else "not set; generated tasks need no data"
    return Finding(section="data", what="CAIRN_DATA", is_well=False if root else None, found=found, mend=DATA)


def _original() -> Finding:
    folder = os.environ.get("ALFWORLD_DATA")
    is_there = bool(folder) and Path(str(folder)).is_dir()
    found = str(folder) if is_there else f"{folder}: no such folder" if folder else "not set; ALFWorld's own files"
    mend = "" if is_there else f"{install_command('alfworld')} && alfworld-download"
    return Finding(section="data", what="ALFWORLD_DATA", is_well=True if is_there else None, found=found, mend=mend)


def stored(file: Path) -> Iterator[Finding]:
    """Yield the result of reading all of a run's file."""
    what = file.parent.name or file.name
    try:
        with RunStore.read(file) as store:
            read.check(store)
            ((episodes, turns),) = store.rows("SELECT count(*), total(turns) FROM episodes")
    except CairnError as error:
        yield refused("run", what, error)
        return
    found = f"{episodes:,} episodes and {turns:,.0f} turns; all of {file} can be read"
    yield Finding(section="run", what=what, is_well=True, found=found)
