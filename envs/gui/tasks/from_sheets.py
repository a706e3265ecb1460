"""Workflows that begin with a sheet and handle some of its rows in another application."""

from __future__ import annotations

import random
from dataclasses import replace

from cairn.envs.gui.task import workflow
from cairn.envs.gui.tasks._planting import admit, lay_out, project, report, with_cell
from cairn.envs.office.clock import days_later
from cairn.envs.office.fixtures import before, contacts, money, next_week, put
from cairn.envs.office.issues import PRIORITIES
from cairn.envs.office.task import Plan, Step, step
from cairn.envs.office.world import World

_ROOMS = ("Boiler room", "Stairwell", "Loading dock", "Roof hatch", "Bicycle shed", "Server closet")


def _failed(world: World, rng: random.Random) -> Plan:
    of, steps, rows = project(world, rng), list[Step](), []
    for at, room in enumerate(rng.sample(_ROOMS, 5)):
        is_bad, code = at % 2 == 0, f"F{rng.randrange(100, 1000)}"
        rows.append((room, "failed" if is_bad else "passed", code))
        if is_bad:
            step_ = step(
                "issues", "create", project=of.name, title=f"Inspection: {room}", text=f"Finding {code}.",
                priority="high", says=(code,), says_only=True,
            )  # fmt: skip
            steps.append(step_)
    lay_out(world, "Inspection", (("Place", "text"), ("Result", "text"), ("Finding", "text")), rows)
    return Plan(
        instruction="For each place that failed according to the sheet Inspection, report an issue 'Inspection: PLACE' "
        f"in the project {of.name} with high priority, nobody assigned and no label. The finding belongs into the "
        "description.",
        steps=tuple(steps),
    )


def _triage(world: World, rng: random.Random) -> Plan:
    of, steps, rows = project(world, rng), list[Step](), []
    for room in rng.sample(_ROOMS, 4):
        issue = report(world, of, f"{room}: light is out")
        who, priority = rng.choice(of.members), rng.choice([each for each in PRIORITIES if each != "normal"])
        rows.append((issue.title, who, priority))
        steps.append(step("issues", "update", issue_id=issue.id, assignee=who, priority=priority))
    rng.shuffle(rows)
    lay_out(world, "Triage", (("Issue", "text"), ("Owner", "text"), ("Priority", "text")), rows)
    return Plan(
        instruction="The sheet Triage gives the owner and the priority of some issues. Set the issues' assignees and "
        "priorities to these.",
        steps=tuple(steps),
    )


def _debts(world: World, rng: random.Random) -> Plan:
    people, steps, rows = contacts(world, rng, 4), list[Step](), []
    for at, who in enumerate(people):
        cents = rng.randrange(500, 9_000)
        rows.append((who.name, who.address, money(cents), "yes" if at == 1 else "no"))
        if at != 1:
            step_ = step(
                "payments", "request_money", address=who.address, amount=cents, note="Boat trip", says=("Boat trip",)
            )  # fmt: skip
            steps.append(step_)
    columns = (("Name", "text"), ("Address", "text"), ("Owes", "number"), ("Paid", "text"))
    lay_out(world, "Boat trip", columns, rows)
    return Plan(
        instruction="Ask everybody who has not paid according to the sheet 'Boat trip' for the amount that they owe: "
        "one request each, with the note 'Boat trip' and without a due day.",
        steps=tuple(steps),
    )


def _courses(world: World, rng: random.Random) -> Plan:
    days, steps, rows = next_week(world), list[Step](), []
    for at, course in enumerate(rng.sample(("Knots", "Maps", "Radio", "Stars", "Tides"), 4)):
        day = days[at] if at < 3 else days_later(days[4], 7)
        rows.append((course, day, f"Room {at + 1}"))
        if at < 3:
            title, start = f"Course: {course}", f"{day}T17:00"
            steps.append(step("calendar", "create", title=title, start=start, minutes=90, location=f"Room {at + 1}"))
    rng.shuffle(rows)
    lay_out(world, "Courses", (("Course", "text"), ("Day", "day"), ("Room", "text")), rows)
    return Plan(
        instruction="Put the courses of the sheet Courses that are next week into my calendar, without other people: "
        "each as 'Course: NAME' from 17:00 to 18:30, in its room.",
        steps=tuple(steps),
    )


def _leavers(world: World, rng: random.Random) -> Plan:
    people, steps, rows = contacts(world, rng, 4), list[Step](), []
    for at, who in enumerate(people):
        admit(world, who.name, who.address, "editor")
        rows.append((who.name, who.address, "gone" if at < 2 else "stays"))
        if at < 2:
            steps.append(step("settings", "update_user", address=who.address, active=False))
    rng.shuffle(rows)
    lay_out(world, "Staff", (("Name", "text"), ("Address", "text"), ("State", "text")), rows)
    return Plan(
        instruction="Make the site's users inactive who are gone according to the sheet Staff. Their roles stay.",
        steps=tuple(steps),
    )


def _phones(world: World, rng: random.Random) -> Plan:
    people, steps, rows = contacts(world, rng, 3), list[Step](), []
    for at, who in enumerate(people):
        old, new = (f"+44 20 5550 {rng.randrange(10_000):04}" for _ in range(2))
        new = old if at == 2 else new
        world.contacts.contacts[who.id] = replace(who, phone=old)
        rows.append((who.name, who.address, new))
        if new != old:
            steps.append(step("contacts", "update", contact_id=who.id, phone=new))
    lay_out(world, "Phone list", (("Name", "text"), ("Address", "text"), ("Phone", "text")), rows)
    return Plan(
        instruction="The sheet 'Phone list' has the right phone numbers. Correct my contacts where they differ.",
        steps=tuple(steps),
    )


def _order(world: World, rng: random.Random) -> Plan:
    things, lines, rows = rng.sample(("Chalk", "Glue", "String", "Tape", "Wax"), 5), [], []
    for thing in sorted(things):
        has, least = rng.randrange(1, 30), rng.randrange(5, 25)
        has = least if has == least - 1 else has
        rows.append((thing, str(has), str(least)))
        if has < least:
            lines.append(f"{thing}: {least - has}")
    if not lines:
        rows[0] = (rows[0][0], "1", "9")
        lines.append(f"{rows[0][0]}: 8")
    rng.shuffle(rows)
    lay_out(world, "Supplies", (("Thing", "text"), ("Has", "number"), ("Least", "number")), rows)
    path = "/Notes/order.txt"
    return Plan(
        instruction=f"Write the file {path}: a line like 'Thing: number' for each thing of the sheet Supplies of which "
        "there is less than the least number, with how many are missing, in alphabetical order.",
        steps=(step("files", "write", path=path, text="".join(f"{line}\n" for line in lines)),),
    )


def _reading(world: World, rng: random.Random) -> Plan:
    """Update a sheet from a file, unlike the other tasks, which begin with the sheet."""
    rooms, steps, rows, lines = rng.sample(_ROOMS, 4), list[Step](), [], []
    for at, room in enumerate(rooms):
        old = str(rng.randrange(100, 500))
        new = old if at == 3 else str(rng.randrange(500, 900))
        rows.append((room, old))
        lines.append(f"{room}: {new}\n")
    for row, line in zip(
        lay_out(world, "Meters", (("Place", "text"), ("Reading", "number")), rows), lines, strict=True
    ):
        new = line.split(": ")[1].strip()
        if dict(row.cells)["Reading"] != new:
            steps.append(step("sheets", "update_row", row_id=row.id, cells=with_cell(row, "Reading", new)))
    rng.shuffle(lines)
    put(world, "/Notes/meters.txt", "".join(lines), before(world, rng, 1, 3))
    put(world, "/Notes/meters-old.txt", "".join(lines).replace("5", "4"), before(world, rng, 30, 40))
    return Plan(
        instruction="The file /Notes/meters.txt has the new readings. Write them into the sheet Meters.",
        steps=tuple(steps),
    )


TEMPLATES = (
    workflow("issues-from-inspection", 3, ("sheets", "issues"), _failed),
    workflow("triage-from-sheet", 3, ("sheets", "issues"), _triage),
    workflow("ask-for-debts", 3, ("sheets", "payments"), _debts),
    workflow("courses-to-calendar", 3, ("sheets", "calendar"), _courses),
    workflow("leavers-to-settings", 3, ("sheets", "settings"), _leavers),
    workflow("phones-from-sheet", 2, ("sheets", "contacts"), _phones),
    workflow("order-what-is-missing", 2, ("sheets", "files"), _order),
    workflow("readings-to-sheet", 2, ("files", "sheets"), _reading),
)
