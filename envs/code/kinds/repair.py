"""Repair: find the faults in a small project from its README and a few tests.

The projects were written for Cairn; a seed draws the faults. The splits share no project; each has the seeds 0 to 999.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from cairn.envs.code.judge import HiddenTests
from cairn.envs.code.problem import Problem
from cairn.envs.code.repair import break_project, load_project, projects

_HELD_OUT = ("merge", "orders", "tablequery", "units")
_SEEDS = 1000  # of each project and split
_VISIBLE = "visible_tests.py"
_INSTRUCTION = """The {name} project does not behave as its README.md says: one to three faults were put into it. Find
and mend them. visible_tests.py has tests to run; others, which you do not see, judge the result."""


class Repair:
    """Every project of a split with every seed."""

    splits = ("train", "test")
    has_tests = True

    def ids(self, split: str) -> Sequence[str]:
        """Return the ids, ordered by seed, so that neighbours come from different projects."""
        names = [name for name in projects() if (name in _HELD_OUT) == (split == "test")]
        return [f"{name}-{seed}" for seed in range(_SEEDS) for name in names]

    def load(self, task_id: str) -> Problem:
        """Return a task."""
        name, _, seed = task_id.rpartition("-")
        if name not in projects() or not seed.isdecimal():
            raise KeyError(task_id)
        project = load_project(name)
        broken = break_project(project, int(seed))
        changed = {change.path for change in broken.changes}
        return Problem(
            instruction=_INSTRUCTION.format(name=name),
            files={**broken.files, "README.md": project.readme, _VISIBLE: project.visible},
            given=(_VISIBLE, "README.md"),
            visible=_VISIBLE,
            job=HiddenTests(style="functions", tests=project.hidden, modules=_modules(broken.files)),
            solution={path: project.files[path] for path in sorted(changed)},
        )


def _modules(files: Mapping[str, str]) -> tuple[str, ...]:
    return tuple(sorted({path.partition("/")[0].removesuffix(".py") for path in files}))


KIND = Repair()
