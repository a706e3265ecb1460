"""Issues application: filtered list, issues with comments, projects and milestones."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from cairn.envs.gui.locate import Json, everything, turn_to
from cairn.envs.gui.parts import (
    Button,
    FactList,
    Field,
    Form,
    Link,
    Nav,
    Page,
    Part,
    Prose,
    Row,
    Table,
    address,
    choices,
    distinct,
    pager,
)
from cairn.envs.gui.site import Place, Site, Visit, doing
from cairn.envs.gui.ui_actions import Deed, check, click, fill, fill_in, goto, search, select, texts
from cairn.envs.office.issues import ORDERS, PRIORITIES, STATUSES
from cairn.envs.office.task import Step
from cairn.envs.office.world import World

NOBODY, NO_MILESTONE = "nobody", "no milestone"


def name_of(issue: Json) -> str:
    """Return the accessible name of an issue's row."""
    return f"{issue['title']}, in {issue['project']}"


def _bar() -> Nav:
    links = (("All issues", "/"), ("Projects and milestones", "/projects"))
    return Nav(name="Issues", links=[Link(text=text, to=to) for text, to in links])


def _list(visit: Visit) -> Page:
    names = ("q", "project", "status", "priority", "assignee", "label")
    asked = {name: visit.value(name) for name in names}
    order = visit.value("order", "newest")
    found = visit.listed(
        "issues", "search", query=asked["q"], project=asked["project"] or None, status=asked["status"] or None,
        priority=asked["priority"] or None, label=asked["label"] or None, order=order,
        assignee={"": None, NOBODY: ""}.get(asked["assignee"], asked["assignee"]),
    )  # fmt: skip
    orders = Nav(
        name="Order",
        looks="tabs",
        links=[
            Link(text=each.capitalize(), to=address("/", **asked, order=each), is_current=each == order)
            for each in ORDERS
        ],
    )
    unique = distinct([name_of(issue) for issue in found["items"]])
    rows = [
        Row(
            cells=(
                Link(text=issue["title"], to=f"/issue/{issue['id']}", name=name), issue["project"], issue["status"],
                issue["priority"], issue["assignee"], ", ".join(issue["labels"]), issue["milestone"], issue["made_on"],
            )
        )
        for issue, name in zip(found["items"], unique, strict=True)
    ]  # fmt: skip
    columns = ("Title", "Project", "Status", "Priority", "Assignee", "Labels", "Milestone", "Reported")
    table = Table(caption=f"{found['total']} issues", columns=columns, rows=rows)
    pages = pager("/", found["total"], visit.page(), **asked, order=order)
    return Page(title="Issues", parts=(_bar(), _look(visit, asked, order), orders, table, pages))


def _look(visit: Visit, asked: dict[str, str], order: str) -> Form:
    projects = visit.everything("issues", "list_projects")
    members = sorted({name for project in projects for name in project["members"]})
    labels = sorted({label for project in projects for label in project["labels"]})
    lists = (
        ("Project", "project", choices([project["name"] for project in projects], "any project")),
        ("Status", "status", choices((*STATUSES, "not closed"), "any status")),
        ("Priority", "priority", choices(PRIORITIES, "any priority")),
        ("Assignee", "assignee", choices((NOBODY, *members), "anybody")),
        ("Label", "label", choices(labels, "any label")),
    )
    fields = [
        Field(label=label, name=name, kind="select", value=asked[name], options=options)
        for label, name, options in lists
    ]
    box = Field(label="Search issues", name="q", kind="search", value=asked["q"])
    return Form(to="/", is_get=True, submits=(("", "Search"),), hidden={"order": order}, fields=(box, *fields))


def _issue(visit: Visit) -> Page:
    issue = visit.call("issues", "get", issue_id=visit.path["id"])
    at = f"/issue/{issue['id']}"
    facts = FactList(
        pairs=(
            ("Project", issue["project"]),
            ("Status", issue["status"]),
            ("Priority", issue["priority"]),
            ("Assignee", issue["assignee"]),
            ("Milestone", issue["milestone"]),
            ("Labels", ", ".join(issue["labels"])),
            ("Reported", f"{issue['made_on']} by {issue['reporter']}"),
        )
    )
    comments = [
        Prose(heading=f"{each['author']}, {each['at'].replace('T', ' ')}", text=each["text"])
        for each in issue["comments"]
    ]
    form = Form(
        to=f"{at}/comment", submits=(("", "Add comment"),),
        fields=(Field(label="Comment", name="text", kind="area", value=visit.value("text")),),
    )  # fmt: skip
    ways = Nav(name="This issue", links=(Link(text="Edit", to=f"{at}/edit"),))
    return Page(title=issue["title"], parts=(_bar(), ways, facts, Prose(text=issue["text"]), *comments, form))


def _fields(visit: Visit, project: str, old: Json) -> list[Field]:
    """Return the fields that the forms for new and existing issues share."""
    of = next(each for each in visit.everything("issues", "list_projects") if each["name"] == project)
    milestones = [each["name"] for each in visit.everything("issues", "list_milestones", project=project)]
    lists = (
        ("Priority", "priority", choices(PRIORITIES)),
        ("Assignee", "assignee", choices(of["members"], NOBODY)),
        ("Milestone", "milestone", choices(milestones, NO_MILESTONE)),
    )
    return [
        Field(label="Title", name="title", value=visit.value("title", old["title"])),
        Field(label="Description", name="text", kind="area", value=visit.value("text", old["text"])),
        *(
            Field(label=label, name=name, kind="select", value=visit.value(name, old[name]), options=options)
            for label, name, options in lists
        ),
        Field(label="Labels", name="labels", kind="boxes", options=choices(of["labels"]),
              chosen=visit.values("labels", old["labels"])),
    ]  # fmt: skip


def _edit(visit: Visit) -> Page:
    issue = visit.call("issues", "get", issue_id=visit.path["id"])
    status = Field(
        label="Status", name="status", kind="select", options=choices(STATUSES),
        value=visit.value("status", issue["status"]),
    )  # fmt: skip
    form = Form(to=f"/issue/{issue['id']}/edit", fields=(status, *_fields(visit, issue["project"], issue)))
    return Page(title=f"Edit: {issue['title']}", parts=(_bar(), form))


def _new(visit: Visit) -> Page:
    project = visit.query.get("project", "")
    old = {"title": "", "text": "", "priority": "normal", "assignee": "", "milestone": "", "labels": []}
    form = Form(
        to=address("/new", project=project), submits=(("", "Report issue"),), fields=_fields(visit, project, old)
    )
    return Page(title=f"New issue in {project}", parts=(_bar(), form))


def _reported(visit: Visit) -> str:
    made = visit.perform("issues", "create", project=visit.query.get("project", ""))
    return f"/issue/{made['id']}"


def _projects(visit: Visit) -> Page:
    rows = [
        Row(
            cells=(
                Link(text=each["name"], to=address("/project", name=each["name"]), name=f"Project {each['name']}"),
                str(each["open"]),
                ", ".join(each["members"]),
            )
        )
        for each in visit.everything("issues", "list_projects")
    ]
    table = Table(caption="Projects", columns=("Name", "Issues not closed", "Members"), rows=rows)
    return Page(title="Projects and milestones", parts=(_bar(), table))


def _project(visit: Visit) -> Page:
    project = visit.query.get("name", "")
    rows = [
        Row(
            cells=(
                each["name"], each["due"], "closed" if each["closed"] else "open", str(each["open"]),
                str(each["issues"]),
            ),
            buttons=_milestone_buttons(project, each),
        )
        for each in visit.everything("issues", "list_milestones", project=project)
    ]  # fmt: skip
    columns = ("Milestone", "Due", "State", "Issues not closed", "Issues")
    plan = Form(
        to=address("/milestone", name=project),
        heading="Plan a milestone",
        submits=(("", "Plan milestone"),),
        fields=(
            Field(label="Name", name="title", value=visit.value("title")),
            Field(label="Due", name="due", value=visit.value("due"), hint="like 2031-05-04"),
        ),
    )
    again = Form(
        to=address("/due", name=project),
        heading="Change when a milestone is due",
        submits=(("", "Change day"),),
        fields=(
            Field(label="Milestone", name="milestone", kind="select", options=choices(_names(visit, project))),
            Field(label="New day", name="day", value=visit.value("day"), hint="like 2031-05-04"),
        ),
    )
    ways = Nav(name="This project", links=(Link(text="New issue", to=address("/new", project=project)),))
    parts: Sequence[Part] = (_bar(), ways, Table(caption="Milestones", columns=columns, rows=rows), plan, again)
    return Page(title=f"Project {project}", parts=parts)


def _names(visit: Visit, project: str) -> list[str]:
    return [each["name"] for each in visit.everything("issues", "list_milestones", project=project)]


def _milestone_buttons(project: str, milestone: Json) -> list[Button]:
    text = "Open again" if milestone["closed"] else "Close"
    values = {"milestone": milestone["name"], "closed": "no" if milestone["closed"] else "yes"}
    to = address("/close", name=project)
    return [Button(text=text, name=f"{text}: {milestone['name']}", to=to, values=values)]


def _planned(visit: Visit) -> str:
    project = visit.query.get("name", "")
    visit.perform("issues", "create_milestone", project=project, name=visit.value("title"))
    return address("/project", name=project)


def _replanned(visit: Visit) -> str:
    project = visit.query.get("name", "")
    changes = {"due": visit.value("day")} if visit.value("day") else {"closed": visit.value("closed") == "yes"}
    visit.call("issues", "update_milestone", project=project, name=visit.value("milestone"), **changes)
    return address("/project", name=project)


def _to_issue(world: World, issue_id: object) -> Iterator[Deed]:
    title = world.issues.issues[str(issue_id)].title
    yield goto("http://issues/")
    yield from search("Search issues", title)
    items = everything(world, "issues", "search", query=title)
    name = yield from turn_to(items, lambda item: item["id"] == issue_id, name_of)
    yield click("link", name)


def _to_project(project: object) -> Iterator[Deed]:
    yield goto("http://issues/")
    yield click("link", "Projects and milestones")
    yield click("link", f"Project {project}")


def _how_fields(step: Step, has: Sequence[str]) -> Iterator[Deed]:
    """Fill in the form of a new issue, or of an existing one whose labels are `has`."""
    given = step.arguments
    for argument, label in (("title", "Title"), ("text", "Description")):
        if argument in given:
            yield fill(label, str(given[argument]))
    for argument, label, nothing in (
        ("status", "Status", ""),
        ("priority", "Priority", ""),
        ("assignee", "Assignee", NOBODY),
        ("milestone", "Milestone", NO_MILESTONE),
    ):
        if argument in given:
            yield select(label, str(given[argument]) or nothing)
    wanted = texts(given.get("labels")) if "labels" in given else list(has)
    for label in wanted:
        yield check(label)
    for label in sorted(set(has) - set(wanted)):
        yield click("checkbox", label)


def _how_create(world: World, step: Step) -> Iterator[Deed]:
    yield from _to_project(step.arguments["project"])
    yield click("link", "New issue")
    yield from _how_fields(step, ())
    yield click("button", "Report issue")


def _how_update(world: World, step: Step) -> Iterator[Deed]:
    issue_id = str(step.arguments["issue_id"])
    yield from _to_issue(world, issue_id)
    yield click("link", "Edit")
    yield from _how_fields(step, world.issues.issues[issue_id].labels)
    yield click("button", "Save")


def _how_comment(world: World, step: Step) -> Iterator[Deed]:
    yield from _to_issue(world, step.arguments["issue_id"])
    yield fill("Comment", str(step.arguments["text"]))
    yield click("button", "Add comment")


def _how_plan(world: World, step: Step) -> Iterator[Deed]:
    yield from _to_project(step.arguments["project"])
    yield from fill_in({"Name": str(step.arguments["name"]), "Due": str(step.arguments["due"])})
    yield click("button", "Plan milestone")


def _how_replan(world: World, step: Step) -> Iterator[Deed]:
    yield from _to_project(step.arguments["project"])
    name = str(step.arguments["name"])
    if "due" in step.arguments:
        yield select("Milestone", name)
        yield fill("New day", str(step.arguments["due"]))
        yield click("button", "Change day")
    if "closed" in step.arguments:
        yield click("button", f"{'Close' if step.arguments['closed'] else 'Open again'}: {name}")


def _how_look(world: World, step: Step) -> Iterator[Deed]:
    yield goto("http://issues/")
    for argument, label in (("project", "Project"), ("status", "Status"), ("priority", "Priority")):
        if argument in step.arguments:
            yield select(label, str(step.arguments[argument]))
    yield click("button", "Search")


def _how_get(world: World, step: Step) -> Iterator[Deed]:
    yield from _to_issue(world, step.arguments["issue_id"])


_AT = "/issue/{id}"
APP = Site(
    name="issues",
    title="Issues",
    places=(
        Place(path="/", show=_list),
        Place(path="/projects", show=_projects),
        Place(path="/project", show=_project),
        Place(path="/milestone", show=_project, do=_planned, message="The milestone was planned."),
        Place(path="/close", show=_project, do=_replanned, message="The milestone was changed."),
        Place(path="/due", show=_project, do=_replanned, message="The milestone has another day."),
        Place(path="/new", show=_new, do=_reported, message="The issue was reported."),
        Place(path=_AT, show=_issue),
        Place(path=f"{_AT}/edit", show=_edit, do=doing("issues", "update", _AT, issue_id="id"), message="Saved."),
        Place(path=f"{_AT}/comment", show=_issue, do=doing("issues", "comment", _AT, issue_id="id"), message="Said."),
    ),
    how={
        "search": _how_look,
        "get": _how_get,
        "create": _how_create,
        "update": _how_update,
        "comment": _how_comment,
        "create_milestone": _how_plan,
        "update_milestone": _how_replan,
    },
)
