"""Tasks in the issue tracker: report, assign, plan and close, and look up information."""

from __future__ import annotations

import random

from cairn.envs.gui.task import simple
from cairn.envs.gui.tasks._planting import milestones, project, report
from cairn.envs.office.clock import day_of, days_later
from cairn.envs.office.fixtures import money
from cairn.envs.office.issues import PRIORITIES
from cairn.envs.office.task import Plan, step
from cairn.envs.office.world import World

_TITLES = ("Gate squeaks", "Clock runs late", "Pump leaks", "Sign is upside down", "Bell rings twice", "Ramp is icy")


def _close(world: World, rng: random.Random) -> Plan:
    of, title = project(world, rng), rng.choice(_TITLES)
    issue = report(world, of, title)
    return Plan(
        instruction=f"Close the issue {title!r}.",
        steps=(step("issues", "update", issue_id=issue.id, status="closed"),),
    )


def _priority(world: World, rng: random.Random) -> Plan:
    one, other = (world.issues.projects[name] for name in rng.sample(sorted(world.issues.projects), 2))
    title, priority = rng.choice(_TITLES), rng.choice(("low", "high", "urgent"))
    issue = report(world, one, title)
    report(world, other, title)
    return Plan(
        instruction=f"Set the priority of the issue {title!r} in the project {one.name} to {priority}.",
        steps=(step("issues", "update", issue_id=issue.id, priority=priority),),
    )


def _assign(world: World, rng: random.Random) -> Plan:
    of, title = project(world, rng), rng.choice(_TITLES)
    issue, who = report(world, of, title), rng.choice(of.members)
    return Plan(
        instruction=f"Assign the issue {title!r} to {who}.",
        steps=(step("issues", "update", issue_id=issue.id, assignee=who),),
    )


def _comment(world: World, rng: random.Random) -> Plan:
    of, title, price = project(world, rng), rng.choice(_TITLES), money(rng.randrange(1_000, 90_000))
    issue = report(world, of, title)
    return Plan(
        instruction=f"Comment on the issue {title!r} that the repair costs {price}.",
        steps=(step("issues", "comment", issue_id=issue.id, text=f"It costs {price}.", says=(price,)),),
    )


def _report(world: World, rng: random.Random) -> Plan:
    of, title, code = project(world, rng), rng.choice(_TITLES), f"E{rng.randrange(100, 1000)}"
    label, priority = rng.choice(of.labels), rng.choice(("high", "urgent"))
    step_ = step(
        "issues", "create", project=of.name, title=title, text=f"It shows {code}.", priority=priority, labels=[label],
        says=(code,),
    )  # fmt: skip
    return Plan(
        instruction=f"Report an issue {title!r} in the project {of.name} with the priority {priority} and the label "
        f"{label!r}; nobody is assigned. The description should mention the error code {code}.",
        steps=(step_,),
    )


def _plan(world: World, rng: random.Random) -> Plan:
    of, name = project(world, rng), rng.choice(("Moving day", "Fair", "Open house"))
    due = days_later(day_of(world.now), rng.randint(20, 60))
    return Plan(
        instruction=f"Plan a milestone {name!r} in the project {of.name}, due on {due}.",
        steps=(step("issues", "create_milestone", project=of.name, name=name, due=due),),
    )


def _relabel(world: World, rng: random.Random) -> Plan:
    of, title = project(world, rng), rng.choice(_TITLES)
    old, new = rng.sample(of.labels, 2)
    issue = report(world, of, title, labels=[old])
    return Plan(
        instruction=f"The issue {title!r} has the wrong label: it should be {new!r} and nothing else.",
        steps=(step("issues", "update", issue_id=issue.id, labels=[new]),),
    )


def _count(world: World, rng: random.Random) -> Plan:
    of, priority = project(world, rng), rng.choice(PRIORITIES)
    for at, title in enumerate(rng.sample(_TITLES, 3)):
        report(world, of, title, priority=priority, status="closed" if at == 0 else "blocked")
    count = sum(
        (each.project, each.priority) == (of.name, priority) and each.status != "closed"
        for each in world.issues.issues.values()
    )
    return Plan(
        instruction=f"How many issues of the project {of.name} with the priority {priority} are not closed? Send me "
        "the number alone.",
        answer=count,
        looks=(step("issues", "search", project=of.name, priority=priority, status="not closed"),),
    )


def _who(world: World, rng: random.Random) -> Plan:
    of, title = project(world, rng), rng.choice(_TITLES)
    who = rng.choice(of.members)
    issue = report(world, of, title, status="in progress", assignee=who)
    report(world, of, f"{title} again", status="in progress", assignee=next(m for m in of.members if m != who))
    return Plan(
        instruction=f"Who is working on the issue that is called exactly {title!r}? Send me the name alone.",
        answer=who,
        looks=(step("issues", "get", issue_id=issue.id),),
    )


def _postpone(world: World, rng: random.Random) -> Plan:
    of, steps = project(world, rng), []
    old, new = rng.sample(milestones(world, of), 2)
    for at, title in enumerate(rng.sample(_TITLES, 3)):
        report(world, of, title, milestone=old, status="closed" if at == 2 else "open")
    for issue in world.issues.issues.values():
        if (issue.project, issue.milestone) == (of.name, old) and issue.status != "closed":
            steps.append(step("issues", "update", issue_id=issue.id, milestone=new))
    return Plan(
        instruction=f"In the project {of.name}, put every issue of the milestone {old!r} that is not closed into the "
        f"milestone {new!r}.",
        steps=tuple(steps),
    )


def _finish(world: World, rng: random.Random) -> Plan:
    of, name = project(world, rng), "Handover"
    due = days_later(day_of(world.now), 3)
    world.call("issues", "create_milestone", {"project": of.name, "name": name, "due": due})
    world.log.clear()
    issues = [
        report(world, of, title, milestone=name, status=("open", "blocked", "closed")[at])
        for at, title in enumerate(rng.sample(_TITLES, 3))
    ]
    report(world, of, "Handover letter is missing")
    closes = [step("issues", "update", issue_id=each.id, status="closed") for each in issues[:2]]
    return Plan(
        instruction=f"Everything for the milestone {name!r} of the project {of.name} is done. Close the issues that "
        "are planned for it, and then the milestone itself.",
        steps=(*closes, step("issues", "update_milestone", project=of.name, name=name, closed=True)),
    )


def _triage(world: World, rng: random.Random) -> Plan:
    of, steps = project(world, rng), []
    who = rng.choice(of.members)
    for title in rng.sample(_TITLES, 3):
        report(world, of, title, priority="urgent")
    for issue in world.issues.issues.values():
        if (issue.project, issue.priority, issue.status, issue.assignee) == (of.name, "urgent", "open", ""):
            steps.append(step("issues", "update", issue_id=issue.id, assignee=who, status="in progress"))
    return Plan(
        instruction=f"Assign {who} to every open, urgent issue of the project {of.name} that nobody is assigned to, "
        "and set the status of these issues to 'in progress'.",
        steps=tuple(steps),
    )


def _hand_over(world: World, rng: random.Random) -> Plan:
    of, steps = project(world, rng), []
    leaver, heir = rng.sample([name for name in of.members if name != world.owner], 2)
    report(world, of, rng.choice(_TITLES), assignee=leaver, status="blocked")
    for issue in world.issues.issues.values():
        if (issue.project, issue.assignee) == (of.name, leaver) and issue.status != "closed":
            steps.append(step("issues", "update", issue_id=issue.id, assignee=heir))
    return Plan(
        instruction=f"{leaver} leaves the project {of.name}. Give all issues of this project that are assigned to "
        f"{leaver} and not closed to {heir}.",
        steps=tuple(steps),
    )


TEMPLATES = (
    simple("issues-close", 1, "issues", _close),
    simple("issues-set-priority", 1, "issues", _priority),
    simple("issues-assign", 1, "issues", _assign),
    simple("issues-comment", 1, "issues", _comment),
    simple("issues-report", 2, "issues", _report),
    simple("issues-plan-milestone", 2, "issues", _plan),
    simple("issues-relabel", 2, "issues", _relabel),
    simple("issues-count", 2, "issues", _count),
    simple("issues-who", 2, "issues", _who),
    simple("issues-postpone", 3, "issues", _postpone),
    simple("issues-finish-milestone", 3, "issues", _finish),
    simple("issues-assign-urgent", 3, "issues", _triage),
    simple("issues-hand-over", 3, "issues", _hand_over),
)
