"""Issues: each call's result and refusals, in a tiny office."""

from __future__ import annotations

from typing import Any

from cairn.envs.office.world import World
from tests.envs.office.desk import desk
from tests.envs.office.refusals import ids, refused

I1: dict[str, Any] = {
    "id": "i1", "project": "Heron", "title": "Door sticks", "status": "open", "priority": "high",
    "assignee": "Sam Field", "milestone": "Spring", "labels": ["bug"], "made_on": "2031-05-01",
}  # fmt: skip


def call(world: World, name: str, /, **arguments: object) -> Any:
    return world.call("issues", name, arguments)


def test_projects_and_milestones_have_counts_of_open_issues() -> None:
    heron, otter = call(desk(), "list_projects")["items"]
    assert heron == {"name": "Heron", "members": ["Ana Brandt", "Sam Field"], "labels": ["bug", "idea"], "open": 2}
    assert (otter["name"], otter["open"]) == ("Otter", 0)
    assert call(desk(), "list_milestones", project="Heron")["items"] == [
        {"name": "Spring", "due": "2031-06-01", "closed": False, "open": 1, "issues": 1},
        {"name": "Autumn", "due": "2031-09-01", "closed": False, "open": 0, "issues": 0},
    ]
    refused(desk(), "issues", "list_milestones", "did you mean 'Heron'", project="Herons")


def test_search_filters_by_the_given_arguments() -> None:
    world = desk()
    assert call(world, "search", query="RAIN")["items"] == [I1]
    assert ids(call(world, "search", project="Heron")) == ["i2", "i1"]  # newest first
    assert ids(call(world, "search", status="not closed", order="oldest")) == ["i1", "i2"]
    assert ids(call(world, "search", status="closed")) == ["i3"]
    assert ids(call(world, "search", assignee="")) == ["i2", "i3"]  # one day: by title
    assert ids(call(world, "search", label="bug", milestone="Spring", priority="high")) == ["i1"]
    assert ids(call(world, "search", milestone="")) == ["i2", "i3"]
    assert ids(call(world, "search", order="priority")) == ["i3", "i1", "i2"]
    assert ids(call(world, "search", order="title")) == ["i2", "i1", "i3"]
    refused(world, "issues", "search", "status must be one of", status="done")
    refused(world, "issues", "search", "order must be one of", order="name")


def test_get_adds_text_reporter_and_comments() -> None:
    comment = {"author": "Zoe Hill", "at": "2031-05-02T09:00", "text": "Still."}
    assert call(desk(), "get", issue_id="i1") == {
        **I1, "text": "In the rain.", "reporter": "Zoe Hill", "comments": [comment],
    }  # fmt: skip
    refused(desk(), "issues", "get", "there is no issue 'i9'", issue_id="i9")


def test_a_new_issue_is_open_and_fits_its_project() -> None:
    world = desk()
    key = call(world, "create", project="Heron", title="Lamp flickers", labels=["idea", "bug"])["id"]
    issue = world.issues.issues[key]
    assert (issue.status, issue.priority, issue.assignee, issue.labels) == ("open", "normal", "", ("bug", "idea"))
    assert (issue.reporter, issue.made_on) == ("Ana Brandt", "2031-05-05")
    good = {"project": "Otter", "title": "A"}
    refused(world, "issues", "create", "labels must be one of bug; got 'idea'", **good, labels=["idea"])
    refused(world, "issues", "create", "assignee must be one of Ana Brandt", **good, assignee="Sam Field")
    refused(world, "issues", "create", "there is no milestone 'Otter/Spring'", **good, milestone="Spring")
    refused(world, "issues", "create", "priority must be one of", **good, priority="huge")
    refused(world, "issues", "create", "none twice", **good, labels=["bug", "bug"])


def test_updating_changes_only_the_given_fields() -> None:
    world = desk()
    before = world.issues.issues["i1"]
    call(world, "update", issue_id="i1", priority="low", milestone="", labels=[])
    after = world.issues.issues["i1"]
    assert (after.priority, after.milestone, after.labels) == ("low", "", ())
    assert (after.title, after.text, after.assignee, after.status) == (
        before.title, before.text, before.assignee, before.status,
    )  # fmt: skip
    refused(world, "issues", "update", "in progress must have an assignee", issue_id="i2", status="in progress")
    call(world, "update", issue_id="i2", status="in progress", assignee="Ana Brandt")


def test_a_closed_issue_is_opened_before_it_is_changed() -> None:
    world = desk()
    refused(world, "issues", "update", "is closed; open it again", issue_id="i3", title="Roof")
    call(world, "update", issue_id="i3", status="closed")  # nothing changes, nothing is refused
    call(world, "comment", issue_id="i3", text="Dry now.")
    call(world, "update", issue_id="i3", status="open", title="Roof")
    assert world.issues.issues["i3"].title == "Roof"


def test_comments_have_the_owner_as_author_and_must_not_be_empty() -> None:
    world = desk()
    call(world, "comment", issue_id="i1", text="On it.")
    assert call(world, "get", issue_id="i1")["comments"][-1] == {
        "author": "Ana Brandt", "at": "2031-05-05T08:00", "text": "On it.",
    }  # fmt: skip
    refused(world, "issues", "comment", "must say something", issue_id="i1", text=" \n")


def test_a_milestone_is_closed_when_its_issues_are() -> None:
    world = desk()
    refused(
        world, "issues", "update_milestone", "has 1 issues that are not", project="Heron", name="Spring", closed=True
    )
    call(world, "update", issue_id="i1", status="closed")
    call(world, "update_milestone", project="Heron", name="Spring", closed=True, due="2031-05-20")
    reported = call(world, "list_milestones", project="Heron")["items"][0]
    assert (reported["due"], reported["closed"]) == ("2031-05-20", True)
    call(world, "create_milestone", project="Otter", name="Spring", due="2031-07-01")
    refused(world, "issues", "create_milestone", "already", project="Otter", name="Spring", due="2031-07-01")
