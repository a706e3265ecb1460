"""Forms in several steps, of which only the last one acts, in one call.

The earlier answers are in the next step's address and hidden fields: an unfinished wizard is only its address. So an
abandoned wizard leaves no trace in the world, the Back link undoes a step, and equal worlds at equal addresses show
equal pages. A step can be left only with answers that pass the call's own argument checks; checks against the world
happen in the call, at the end.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from cairn.envs.gui.parts import FactList, Field, Form, Link, Nav, Page, Part, Prose, address
from cairn.envs.gui.site import Place, Visit
from cairn.envs.gui.ui_actions import Deed, check, click, fill, select
from cairn.envs.office.calls import OfficeError, calls_of

NEXT, BACK = "Next", "Back"


@dataclass(frozen=True, kw_only=True, slots=True)
class Wizard:
    """Steps that lead to one call; each field is named after the argument that it fills."""

    path: str  # base path; the step's number follows
    title: str
    app: str
    call: str
    steps: Sequence[tuple[str, Sequence[Field]]]  # heading and fields
    confirm: str  # the last button
    then: str  # address to redirect to
    message: str

    def places(self) -> list[Place]:
        """Return the places of its steps and of the review."""
        steps = [Place(path=f"{self.path}/{at}", show=self._shown(at)) for at in range(1, len(self.steps) + 1)]
        return [*steps, Place(path=f"{self.path}/review", show=self._review, do=self._do, message=self.message)]

    def deeds(self, answers: Mapping[str, object]) -> Iterator[Deed]:
        """Yield the UI actions that complete the wizard, from its first step."""
        for _, fields in self.steps:
            for each in fields:
                if each.name in answers:
                    yield from _answered(each, answers[each.name])
            yield click("button", NEXT)
        yield click("button", self.confirm)

    def _shown(self, number: int) -> Callable[[Visit], Page]:
        def show(visit: Visit) -> Page:
            problem = self._problem(visit, number - 1)
            heading, fields = self.steps[number - 1]
            filled = [replace(each, value=visit.value(each.name, each.value)) for each in fields]
            here = {each.name for each in fields}
            form = Form(
                to=f"{self.path}/{number + 1 if number < len(self.steps) else 'review'}",
                is_get=True,
                submits=(("", NEXT),),
                hidden={name: value for name, value in self._answers(visit).items() if name not in here},
                fields=filled,
            )
            title = f"{self.title}: step {number} of {len(self.steps)}, {heading}"
            parts: list[Part] = [self._back(visit, number - 1), form] if number > 1 else [form]
            if problem:
                parts = [self._back(visit, number - 1), Prose(text=problem, is_alert=True)]
            return Page(title=title, parts=parts)

        return show

    def _review(self, visit: Visit) -> Page:
        problem, answers = self._problem(visit, len(self.steps)), self._answers(visit)
        back = self._back(visit, len(self.steps))
        if problem:
            return Page(title=self.title, parts=(back, Prose(text=problem, is_alert=True)))
        labels = {each.name: each.label for _, fields in self.steps for each in fields}
        facts = FactList(pairs=[(labels[name], answers.get(name, "")) for name in labels])
        form = Form(to=f"{self.path}/review", submits=(("", self.confirm),), hidden=answers)
        return Page(title=f"{self.title}: review", parts=(back, facts, form))

    def _do(self, visit: Visit) -> str:
        visit.perform(self.app, self.call)
        return self.then

    def _answers(self, visit: Visit) -> dict[str, str]:
        names = [each.name for _, fields in self.steps for each in fields]
        sent = {**visit.query, **dict(visit.form)}
        return {name: sent[name] for name in names if name in sent}

    def _back(self, visit: Visit, number: int) -> Nav:
        links = [Link(text=BACK, to=address(f"{self.path}/{number}", **self._answers(visit)))] if number else []
        return Nav(name="Steps", links=links)

    def _problem(self, visit: Visit, number: int) -> str:
        """Return why the answers of the first steps are invalid, or ""."""
        checks = calls_of(type(visit.world.apps[self.app]))[self.call].parameters
        asked = replace(visit, form=tuple(self._answers(visit).items()))
        try:
            for _, fields in self.steps[:number]:
                for each in fields:
                    checks[each.name].check(asked.typed(each.name, checks[each.name].kind))
        except OfficeError as error:
            return str(error)
        return ""


def _answered(each: Field, answer: object) -> Iterator[Deed]:
    if each.kind == "select":
        yield select(each.label, str(answer))
    elif each.kind == "radio":
        yield check(str(answer), "radio")
    else:
        yield fill(each.label, str(answer))
