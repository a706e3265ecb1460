"""The tiny office with every application: Ana's issues, sheets and settings besides. Ids are short and fixed."""

from __future__ import annotations

from cairn.envs.office.issues import Comment, Issue, Milestone, Project
from cairn.envs.office.settings import Backup, Key, Rule, Setting, User
from cairn.envs.office.sheets import Sheet, SheetRow
from cairn.envs.office.world import DESK, World
from tests.envs.office.tiny import ANA, SAM, ZOE, tiny


def desk() -> World:
    """Return the world, new each time."""
    world = tiny(DESK)
    _add_issues(world)
    _add_sheets(world)
    _add_settings(world)
    return world


def _add_issues(world: World) -> None:
    tracker = world.issues
    for project in (
        Project(name="Heron", members=("Ana Brandt", "Sam Field"), labels=("bug", "idea")),
        Project(name="Otter", members=("Ana Brandt",), labels=("bug",)),
    ):
        tracker.projects[project.name] = project
    for milestone in (
        Milestone(project="Heron", name="Spring", due="2031-06-01"),
        Milestone(project="Heron", name="Autumn", due="2031-09-01"),
    ):
        tracker.milestones[f"Heron/{milestone.name}"] = milestone
    for issue in (
        Issue(id="i1", project="Heron", title="Door sticks", text="In the rain.", reporter="Zoe Hill",
              made_on="2031-05-01", priority="high", assignee="Sam Field", milestone="Spring", labels=("bug",)),
        Issue(id="i2", project="Heron", title="Bell is mute", text="", reporter="Sam Field", made_on="2031-05-02"),
        Issue(id="i3", project="Otter", title="Roof leaks", text="", reporter="Sam Field", made_on="2031-05-02",
              status="closed", priority="urgent"),
    ):  # fmt: skip
        tracker.issues[issue.id] = issue
    tracker.comments["k1"] = Comment(id="k1", issue="i1", author="Zoe Hill", text="Still.", at="2031-05-02T09:00")


def _add_sheets(world: World) -> None:
    sheets = world.sheets
    sheets.sheets["Costs"] = Sheet(name="Costs", columns=(("Item", "text"), ("Cost", "number"), ("Paid", "day")))
    sheets.sheets["Empty"] = Sheet(name="Empty", columns=(("Name", "text"),))
    for at, cells in enumerate(
        (("Paint", "12.50", "2031-05-01"), ("Nails", "2", ""), ("Wood", "100.05", ""), ("Refund", "-3.5", "")), 1
    ):
        row = SheetRow(
            id=f"w{at}", sheet="Costs", position=at, cells=tuple(zip(("Item", "Cost", "Paid"), cells, strict=True))
        )
        sheets.rows[row.id] = row


def _add_settings(world: World) -> None:
    settings = world.settings
    for user in (
        User(address=ANA, name="Ana Brandt", role="administrator"),
        User(address=SAM, name="Sam Field", role="editor", teams=("Design",)),
        User(address=ZOE, name="Zoe Hill", role="viewer", is_active=False),
    ):
        settings.users[user.address] = user
    settings.rules["Tell me"] = Rule(name="Tell me", event="backup failed", channel="mail", target="administrator")
    for name, value in (("Site name", "Home"), ("Language", "English"), ("Currency", "EUR")):
        settings.site[name] = Setting(name=name, value=value)
    settings.backups["Nightly"] = Backup(
        name="Nightly", part="everything", rhythm="daily", hour="02:00", place="local disk", keep_days=30
    )
    settings.keys["Robot"] = Key(name="Robot", scope="read", expires="2031-08-01", version=2)
    settings.keys["Old"] = Key(name="Old", scope="write", expires="2031-08-01", is_revoked=True)
