"""Workflows that begin with an issue, act in another application, and update the issue."""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import replace

from cairn.envs.gui.task import workflow
from cairn.envs.gui.tasks._planting import admit, lay_out, milestones, project, report
from cairn.envs.office.clock import day_of, days_later
from cairn.envs.office.fixtures import before, contacts, next_week, receive
from cairn.envs.office.issues import STATUSES, Project
from cairn.envs.office.settings import CHANNELS, EVENTS, REASONS, ROLES, SITE
from cairn.envs.office.task import Plan, step
from cairn.envs.office.world import World


def _setting(world: World, rng: random.Random) -> Plan:
    of, name = project(world, rng), rng.choice(("Time zone", "Language", "Start page", "First day of the week"))
    old, new = rng.sample(SITE[name][1], 2)
    world.settings.site[name] = replace(world.settings.site[name], value=old)
    issue = report(world, of, "Wrong setting", text=f"The {name.lower()} should be {new}, not {old}.")
    return Plan(
        instruction="The issue 'Wrong setting' asks for a change of the site's settings. Make it, comment on the issue "
        "with the new value and no other, and close the issue.",
        steps=(
            step("settings", "change_site", names=[name], values=[new]),
            step("issues", "comment", issue_id=issue.id, text=f"It is {new} now.", says=(new,), among=SITE[name][1]),
            step("issues", "update", issue_id=issue.id, status="closed"),
        ),
    )


def _key(world: World, rng: random.Random) -> Plan:
    of, name, reason = project(world, rng), rng.choice(sorted(world.settings.keys)), rng.choice(REASONS[1:])
    expires, grace = days_later(day_of(world.now), rng.randint(200, 300)), rng.randrange(1, 20)
    text = f"Please renew the key {name}: {reason}. New end: {expires}. The old one may stay good for {grace} days."
    issue = report(world, of, "A key to renew", text=text)
    return Plan(
        instruction="Make the change that the issue 'A key to renew' asks for, and close the issue.",
        steps=(
            step("settings", "renew_key", name=name, reason=reason, expires=expires, grace_days=grace),
            step("issues", "update", issue_id=issue.id, status="closed"),
        ),
    )


def _newcomer(world: World, rng: random.Random) -> Plan:
    of, (name, address) = project(world, rng), rng.choice(
        (("Orla Finch", "orla.finch@guest.example"), ("Pim Marsh", "pim.marsh@guest.example"))
    )  # fmt: skip
    role = rng.choice(("viewer", "editor"))
    admit(world, name, address.replace("guest", "former"), "viewer", active=False)
    issue = report(world, of, f"Access for {name}", text=f"{name} starts soon: {address}, {role}, team Support.")
    body = f"Welcome! You are {role}."
    return Plan(
        instruction=f"Invite the person of the issue 'Access for {name}' to the site as the issue says, send a mail "
        "with the subject 'Welcome' to the new address that names the role and no other, and close the issue.",
        steps=(
            step("settings", "invite", name=name, address=address, role=role, teams=["Support"]),
            step("mail", "send", to=[address], subject="Welcome", body=body, says=(role,), among=ROLES),
            step("issues", "update", issue_id=issue.id, status="closed"),
        ),
    )


def _known(world: World, rng: random.Random, of: Project, count: int) -> list[tuple[str, str]]:
    """Return names and main addresses of project members in the contacts."""
    by_name = {each.name: each.address for each in world.contacts.contacts.values()}
    return rng.sample([(name, by_name[name]) for name in of.members if name in by_name], count)


def _remind(world: World, rng: random.Random) -> Plan:
    of = project(world, rng)
    (name, address), (other, _) = _known(world, rng, of, 2)
    code = f"P{rng.randrange(1000, 9999)}"
    report(world, of, "Permit is missing", text=f"The number is {code}.", assignee=name, status="blocked")
    report(world, of, "Permit is old", text="The number is P0.", assignee=other, status="blocked")
    body = f"Please see to permit {code}."
    return Plan(
        instruction="Send the person to whom the issue 'Permit is missing' is assigned a mail (main address of my "
        "contacts) with the subject 'Permit' and the number that the issue gives.",
        steps=(step("mail", "send", to=[address], subject="Permit", body=body, says=(code,), says_only=True),),
    )


def _review(world: World, rng: random.Random) -> Plan:
    of = project(world, rng)
    name = rng.choice(milestones(world, of))
    known, day = _known(world, rng, of, 2), rng.choice(next_week(world))
    key = f"{of.name}/{name}"
    world.issues.milestones[key] = replace(world.issues.milestones[key], due=day)
    for issue in [each for each in world.issues.issues.values() if (each.project, each.milestone) == (of.name, name)]:
        world.issues.issues[issue.id] = replace(issue, milestone="")
    for at, (who, _) in enumerate(known):
        report(world, of, f"Fence, part {at + 1}", assignee=who, milestone=name, status="in progress")
    guests = [address for _, address in known]
    step_ = step("calendar", "create", title=f"Review {name}", start=f"{day}T17:00", minutes=30, attendees=guests)
    return Plan(
        instruction=f"Make an event 'Review {name}' of 30 minutes without a place at 17:00 on the day on which "
        f"the milestone {name!r} of the project {of.name} is due, and invite those to whom its issues are assigned, by "
        "their main addresses in my contacts.",
        steps=(step_,),
    )


def _census(world: World, rng: random.Random) -> Plan:
    for name in rng.sample(sorted(world.issues.projects), 2):
        report(world, world.issues.projects[name], f"Paint the {name} sign")
    counts = Counter(each.project for each in world.issues.issues.values() if each.status == "open")
    rows = [(name, "") for name in sorted(world.issues.projects)]
    steps = [
        step("sheets", "update_row", row_id=row.id, cells=[row.cells[0][1], str(counts[row.cells[0][1]])])
        for row in lay_out(world, "Census", (("Project", "text"), ("Open", "number")), rows)
    ]
    return Plan(
        instruction="Fill in the sheet Census: for each project the number of its issues whose status is 'open'.",
        steps=tuple(steps),
    )


def _alarm(world: World, rng: random.Random) -> Plan:
    of, event, channel = project(world, rng), rng.choice(EVENTS), rng.choice(CHANNELS)
    (who,) = contacts(world, rng, 1)
    admit(world, who.name, who.address, "manager")
    text = f"{who.name} wants to be notified by {channel} when this happens: {event}."
    report(world, of, "Nobody was notified", text=text)
    report(world, of, "Nobody was notified (old)", text="Done.", status="closed")
    return Plan(
        instruction="Make the notification rule that the issue 'Nobody was notified' asks for; call it 'Notified', "
        "and let it go to the address that the person has as a user.",
        steps=(step("settings", "create_rule", name="Notified", event=event, channel=channel, target=who.address),),
    )


def _answered(world: World, rng: random.Random) -> Plan:
    of, (who,) = project(world, rng), contacts(world, rng, 1)
    status = rng.choice(("blocked", "in progress"))
    report(world, of, "Awning is torn", status=status, assignee=rng.choice(of.members))
    mail = receive(world, who.address, "The awning", "How is the torn awning coming along?", before(world, rng, 1, 3))
    return Plan(
        instruction="Reply to the mail 'The awning' with the status that the issue 'Awning is torn' has, and name no "
        "other.",
        steps=(step("mail", "reply", mail_id=mail.id, body=f"It is {status}.", says=(status,), among=STATUSES),),
    )


TEMPLATES = (
    workflow("setting-from-issue", 3, ("issues", "settings"), _setting),
    workflow("key-from-issue", 3, ("issues", "settings"), _key),
    workflow("newcomer-from-issue", 3, ("issues", "settings", "mail"), _newcomer),
    workflow("remind-assignee", 2, ("issues", "contacts", "mail"), _remind),
    workflow("review-of-milestone", 3, ("issues", "contacts", "calendar"), _review),
    workflow("census-of-issues", 3, ("issues", "sheets"), _census),
    workflow("rule-from-issue", 2, ("issues", "settings"), _alarm),
    workflow("answer-about-issue", 2, ("mail", "issues"), _answered),
)
