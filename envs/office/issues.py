"""Issues: projects with members, labels and milestones, and their issues with comments.

People are identified by name, not by address; only a project's members can be assigned. A closed issue accepts only
comments and reopening. Not supported: issue numbers, several assignees, links between issues, deletion.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass, replace
from typing import ClassVar

from cairn.envs.office.app import App, find, require
from cairn.envs.office.calls import Day, Limit, Line, Offset, Texts, Words, call, page, shown
from cairn.envs.office.clock import day_of

STATUSES = ("open", "in progress", "blocked", "closed")
PRIORITIES = ("low", "normal", "high", "urgent")
ORDERS = ("newest", "oldest", "priority", "title")
_LIST = "issues.search lists issues"
_PROJECTS = "issues.list_projects lists projects"


@dataclass(frozen=True, kw_only=True, slots=True)
class Project:
    """A project of several people."""

    name: str
    members: tuple[str, ...]  # names, sorted
    labels: tuple[str, ...]  # labels allowed for its issues, sorted


@dataclass(frozen=True, kw_only=True, slots=True)
class Milestone:
    """A due day for some of a project's issues."""

    project: str
    name: str  # unique within the project
    due: str  # day
    is_closed: bool = False


@dataclass(frozen=True, kw_only=True, slots=True)
class Issue:
    """A task or problem in a project."""

    id: str
    project: str
    title: str
    text: str
    reporter: str  # name
    made_on: str  # day
    status: str = "open"
    priority: str = "normal"
    assignee: str = ""  # name of a member; "": none
    milestone: str = ""  # name; "": none
    labels: tuple[str, ...] = ()  # sorted


@dataclass(frozen=True, kw_only=True, slots=True)
class Comment:
    """A person's comment on an issue."""

    id: str
    issue: str  # id
    author: str  # name
    text: str
    at: str  # moment


class Issues(App):
    """Projects and their issues, with labels, milestones and comments."""

    name = "issues"
    tables: ClassVar[tuple[str, ...]] = ("projects", "milestones", "issues", "comments")
    derived: ClassVar = {"issues": frozenset({"id", "made_on"}), "comments": frozenset({"id", "at"})}
    free = frozenset({("issues", "text"), ("comments", "text")})
    sets = frozenset({("issues", "labels")})
    titles: ClassVar = {"issues": "title", "comments": "text"}
    projects: dict[str, Project]
    milestones: dict[str, Milestone]  # by "project/name"
    issues: dict[str, Issue]
    comments: dict[str, Comment]

    @call
    def list_projects(self, *, limit: Limit = 20, offset: Offset = 0) -> dict[str, object]:
        """List the projects by name, with how many of their issues are not closed.

        Example: {"items": [{"name": "Heron", "members": ["Ana Brandt"], "labels": ["bug"], "open": 12}], "total": 1,
        "next_offset": null}
        """
        return page((self._project_json(self.projects[name]) for name in sorted(self.projects)), limit, offset)

    @call
    def list_milestones(self, *, project: Line, limit: Limit = 20, offset: Offset = 0) -> dict[str, object]:
        """List a project's milestones, earliest due first.

        Example: {"items": [{"name": "Spring", "due": "2031-05-20", "closed": false, "open": 4, "issues": 9}],
        "total": 1, "next_offset": null}
        """
        self._project(project)
        found = [each for each in self.milestones.values() if each.project == project]
        return page(map(self._milestone_json, sorted(found, key=lambda each: (each.due, each.name))), limit, offset)

    @call
    def search(
        self,
        *,
        query: Words = "",
        project: Line | None = None,
        status: str | None = None,
        priority: str | None = None,
        assignee: Words | None = None,
        label: Line | None = None,
        milestone: Words | None = None,
        order: str = "newest",
        limit: Limit = 20,
        offset: Offset = 0,
    ) -> dict[str, object]:
        """Find issues: every word of the query occurs in title or text, case ignored.

        Arguments that are None do not restrict the search. An assignee or milestone of "" finds issues without one; the
        status "not closed" finds all but closed ones.
        The order is newest, oldest, priority (urgent first) or title.

        Example: {"items": [{"id": "i-3kk20", "project": "Heron", "title": "Door sticks", "status": "open",
        "priority": "high", "assignee": "Ana Brandt", "milestone": "Spring", "labels": ["bug"],
        "made_on": "2031-05-01"}], "total": 1, "next_offset": null}
        """
        _require_one_of("status", status, (*STATUSES, "not closed"))
        _require_one_of("priority", priority, PRIORITIES)
        _require_one_of("order", order, ORDERS)
        words = query.casefold().split()
        found = [
            issue
            for issue in self.issues.values()
            if project in (None, issue.project)
            and (status in (None, issue.status) or (status == "not closed" and issue.status != "closed"))
            and priority in (None, issue.priority)
            and assignee in (None, issue.assignee)
            and milestone in (None, issue.milestone)
            and (label is None or label in issue.labels)
            and all(word in f"{issue.title}\n{issue.text}".casefold() for word in words)
        ]
        return page(map(_summary, _ordered(found, order)), limit, offset)

    @call
    def get(self, *, issue_id: str) -> dict[str, object]:
        """Return an issue with its text, who reported it, and its comments, oldest first.

        Example: {"id": "i-3kk20", "project": "Heron", "title": "Door sticks", "status": "open", "priority": "high",
        "assignee": "Ana Brandt", "milestone": "Spring", "labels": ["bug"], "made_on": "2031-05-01",
        "text": "It does.", "reporter": "Sam Field", "comments": [{"author": "Sam Field", "at": "2031-05-02T09:00",
        "text": "Still."}]}
        """
        issue = self._find(issue_id)
        comments = [each for each in self.comments.values() if each.issue == issue_id]
        listed = [
            {"author": each.author, "at": each.at, "text": each.text}
            for each in sorted(comments, key=lambda each: (each.at, each.id))
        ]
        return {**_summary(issue), "text": issue.text, "reporter": issue.reporter, "comments": listed}

    @call
    def create(
        self,
        *,
        project: Line,
        title: Line,
        text: str = "",
        priority: str = "normal",
        assignee: Words = "",
        milestone: Words = "",
        labels: Texts | None = None,
    ) -> dict[str, object]:
        """Report an open issue.

        Example: {"id": "i-3kk20"}
        """
        issue = Issue(
            id="",
            project=self._project(project).name,
            title=title,
            text=text,
            reporter=self.world.owner,
            made_on=day_of(self.world.now),
            priority=priority,
            assignee=assignee,
            milestone=milestone,
            labels=tuple(sorted(labels or ())),
        )
        self._check(issue)
        return self._keep(replace(issue, id=self.world.new_id("i")))

    @call
    def update(
        self,
        *,
        issue_id: str,
        title: Line | None = None,
        text: str | None = None,
        status: str | None = None,
        priority: str | None = None,
        assignee: Words | None = None,
        milestone: Words | None = None,
        labels: Texts | None = None,
    ) -> dict[str, object]:
        """Change an issue; None keeps a value, "" removes assignee or milestone.

        `labels` replaces all labels.

        Example: {"id": "i-3kk20"}
        """
        old = self._find(issue_id)
        issue = replace(
            old,
            title=old.title if title is None else title,
            text=old.text if text is None else text,
            status=old.status if status is None else status,
            priority=old.priority if priority is None else priority,
            assignee=old.assignee if assignee is None else assignee,
            milestone=old.milestone if milestone is None else milestone,
            labels=old.labels if labels is None else tuple(sorted(labels)),
        )
        is_changed = replace(issue, status=old.status) != old
        is_closed = old.status == issue.status == "closed"
        require(not (is_closed and is_changed), f"the issue {old.title!r} is closed; open it again to change it")
        self._check(issue)
        return self._keep(issue)

    @call
    def comment(self, *, issue_id: str, text: str) -> dict[str, object]:
        """Add a comment to an issue.

        Example: {"id": "k-0ab12"}
        """
        require(text.strip(), "text must say something")
        issue = self._find(issue_id)
        key = self.world.new_id("k")
        self.comments[key] = Comment(
            id=key, issue=issue.id, author=self.world.owner, text=text, at=self.world.now
        )  # fmt: skip
        return {"id": key}

    @call
    def create_milestone(self, *, project: Line, name: Line, due: Day) -> dict[str, object]:
        """Add a milestone to a project.

        Example: {"project": "Heron", "name": "Spring"}
        """
        self._project(project)
        require(f"{project}/{name}" not in self.milestones, f"{project} has a milestone {shown(name)} already")
        return self._keep_milestone(Milestone(project=project, name=name, due=due))

    @call
    def update_milestone(
        self, *, project: Line, name: Line, due: Day | None = None, closed: bool | None = None
    ) -> dict[str, object]:
        """Change a milestone's day, close it, or reopen it.

        Only a milestone without unfinished issues can be closed.

        Example: {"project": "Heron", "name": "Spring"}
        """
        old = self._milestone(project, name)
        num_open = sum(issue.status != "closed" for issue in self._planned(old))
        require(not closed or not num_open, f"the milestone {shown(name)} has {num_open} issues that are not closed")
        is_closed = old.is_closed if closed is None else closed
        return self._keep_milestone(replace(old, due=due or old.due, is_closed=is_closed))

    def _project(self, name: str) -> Project:
        return find(self.projects, name, "project", _PROJECTS)

    def _milestone(self, project: str, name: str) -> Milestone:
        self._project(project)
        return find(self.milestones, f"{project}/{name}", "milestone", "issues.list_milestones lists them")

    def _find(self, issue_id: str) -> Issue:
        return find(self.issues, issue_id, "issue", _LIST)

    def _planned(self, milestone: Milestone) -> list[Issue]:
        where = (milestone.project, milestone.name)
        return [issue for issue in self.issues.values() if (issue.project, issue.milestone) == where]

    def _keep(self, issue: Issue) -> dict[str, object]:
        self.issues[issue.id] = issue
        return {"id": issue.id}

    def _check(self, issue: Issue) -> None:
        """Raise `OfficeError` unless the project allows the issue's values."""
        project = self._project(issue.project)
        _require_one_of("status", issue.status, STATUSES)
        _require_one_of("priority", issue.priority, PRIORITIES)
        _require_one_of("assignee", issue.assignee or None, project.members)
        for label in issue.labels:
            _require_one_of("labels", label, project.labels)
        require(len(set(issue.labels)) == len(issue.labels), "labels must name none twice")
        if issue.milestone:
            self._milestone(issue.project, issue.milestone)
        has_somebody = issue.status != "in progress" or issue.assignee
        require(has_somebody, "an issue in progress must have an assignee")

    def _keep_milestone(self, milestone: Milestone) -> dict[str, object]:
        self.milestones[f"{milestone.project}/{milestone.name}"] = milestone
        return {"project": milestone.project, "name": milestone.name}

    def _project_json(self, project: Project) -> dict[str, object]:
        num_open = sum(each.project == project.name and each.status != "closed" for each in self.issues.values())
        return {
            "name": project.name,
            "members": list(project.members),
            "labels": list(project.labels),
            "open": num_open,
        }  # fmt: skip

    def _milestone_json(self, milestone: Milestone) -> dict[str, object]:
        planned = self._planned(milestone)
        return {
            "name": milestone.name,
            "due": milestone.due,
            "closed": milestone.is_closed,
            "open": sum(issue.status != "closed" for issue in planned),
            "issues": len(planned),
        }


def _require_one_of(what: str, value: str | None, known: Collection[str]) -> None:
    require(value is None or value in known, f"{what} must be one of {', '.join(known)}; got {shown(value)}")


def _ordered(issues: Iterable[Issue], order: str) -> list[Issue]:
    by_title = sorted(issues, key=lambda issue: (issue.title, issue.id))
    if order == "title":
        return by_title
    newest = sorted(by_title, key=lambda issue: issue.made_on, reverse=order != "oldest")
    if order == "priority":
        return sorted(newest, key=lambda issue: PRIORITIES.index(issue.priority), reverse=True)
    return newest


def _summary(issue: Issue) -> dict[str, object]:
    return {
        "id": issue.id,
        "project": issue.project,
        "title": issue.title,
        "status": issue.status,
        "priority": issue.priority,
        "assignee": issue.assignee,
        "milestone": issue.milestone,
        "labels": list(issue.labels),
        "made_on": issue.made_on,
    }
