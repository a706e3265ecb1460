"""Helpers of task templates that add issues, sheets and users.

For the other applications see `envs.office.fixtures`.
"""

from __future__ import annotations

import random
from collections.abc import Sequence

from cairn.envs.office.clock import day_of, days_later
from cairn.envs.office.furniture import add_row
from cairn.envs.office.issues import Issue, Project
from cairn.envs.office.settings import User
from cairn.envs.office.sheets import Sheet, SheetRow
from cairn.envs.office.world import World


def project(world: World, rng: random.Random) -> Project:
    """Return one of the projects."""
    return world.issues.projects[rng.choice(sorted(world.issues.projects))]


def milestones(world: World, of: Project) -> list[str]:
    """Return the names of a project's milestones."""
    return sorted(each.name for each in world.issues.milestones.values() if each.project == of.name)


def report(
    world: World,
    of: Project,
    title: str,
    *,
    text: str = "Please have a look.",
    status: str = "open",
    priority: str = "normal",
    assignee: str = "",
    milestone: str = "",
    labels: Sequence[str] = (),
    reporter: str = "",
) -> Issue:
    """Add an issue."""
    issue = Issue(
        id=world.new_id("i"),
        project=of.name,
        title=title,
        text=text,
        reporter=reporter or of.members[0],
        made_on=days_later(day_of(world.now), -1),
        status=status,
        priority=priority,
        assignee=assignee,
        milestone=milestone,
        labels=tuple(sorted(labels)),
    )
    world.issues.issues[issue.id] = issue
    return issue


def lay_out(
    world: World, name: str, columns: Sequence[tuple[str, str]], rows: Sequence[Sequence[str]]
) -> list[SheetRow]:  # fmt: skip
    """Add a sheet of (name, kind) columns with its rows."""
    world.sheets.sheets[name] = Sheet(name=name, columns=tuple(columns))
    return [add_row(world, name, tuple(cells)) for cells in rows]


def with_cell(row: SheetRow, column: str, text: str) -> list[str]:
    """Return a row's cells with one replaced, as arguments of `sheets.update_row`."""
    return [text if name == column else cell for name, cell in row.cells]


def admit(world: World, name: str, address: str, role: str, teams: Sequence[str] = (), *, active: bool = True) -> User:
    """Add a user."""
    user = User(address=address, name=name, role=role, teams=tuple(sorted(teams)), is_active=active)
    world.settings.users[address] = user
    return user
