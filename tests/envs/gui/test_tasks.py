"""Properties of the tasks on pages, for every template; `test_browser.py` plays them in Chromium."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import replace
from functools import cache

import pytest

from cairn.core.errors import UnknownNameError
from cairn.envs.gui.apps import deeds, sites
from cairn.envs.gui.task import Template
from cairn.envs.gui.tasks import make_task, templates
from cairn.envs.office.calls import OfficeError
from cairn.envs.office.task import OfficeTask, Step
from cairn.envs.office.validator import carry_out, judge
from cairn.envs.office.world import World
from tests.envs.gui.reader import Reader
from tests.sampling import sampled_params

pytestmark = pytest.mark.rotating(4)

SEEDS = (0, 1)
each_template = pytest.mark.parametrize("template", sampled_params(templates()))


@cache
def task(template: str, seed: int) -> OfficeTask:
    return make_task(template, seed)


def played(given: OfficeTask) -> World:
    """The world after a person has done all steps on the pages."""
    world = given.world.copy()
    reader = Reader(world)
    for step in given.steps:
        carry_out_on(reader, world, step)
    return world


def carry_out_on(reader: Reader, world: World, step: Step) -> None:
    for deed in deeds(world, step):
        reader.do(deed)
    assert not reader.alerts(), (step, reader.alerts())


@each_template
def test_the_oracle_succeeds_on_the_pages(template: str) -> None:
    for given in (task(template, seed) for seed in SEEDS):
        verdict = judge(given.world, played(given), given, given.answer)
        assert (verdict.success, verdict.score, verdict.problems) == (True, 1.0, ())


@each_template
def test_the_page_that_the_oracle_looks_at_contains_the_answer(template: str) -> None:
    for given in (task(template, seed) for seed in SEEDS):
        assert (given.answer is None) == (not given.looks)
        reader = Reader(world := given.world.copy())
        for look in given.looks:
            carry_out_on(reader, world, look)
        assert world.state() == given.world.state()
        answer = rf"(?<!\w){re.escape(str(given.answer))}(?!\w)"
        assert given.answer is None or re.search(answer, reader.words())


@each_template
def test_doing_nothing_scores_nothing(template: str) -> None:
    for seed in range(10):
        given = task(template, seed)
        verdict = judge(given.world, given.world.copy(), given, None)
        assert (verdict.success, verdict.score) == (False, 0.0)


@each_template
def test_each_step_is_needed_and_none_may_be_added(template: str) -> None:
    given = task(template, 2)
    extra = given.world.copy()
    for step in given.steps:
        carry_out(extra, step)
    extra.call("contacts", "create_group", {"group": "Not asked for"})
    assert judge(given.world, extra, given, given.answer).score == 0.0
    for at in range(len(given.steps)):
        world = given.world.copy()
        try:
            for step in given.steps[:at] + given.steps[at + 1 :]:
                carry_out(world, step)
        except OfficeError:  # a step that needs the one left out
            continue
        assert not judge(given.world, world, given, given.answer).success


@each_template
def test_listing_all_candidates_does_not_score(template: str) -> None:
    """Facts that the instruction does not state must be found: a list of all candidates is not accepted."""
    given = task(template, 0)
    assert given.answer is None or judge(given.world, given.world, given, f"{given.answer}, 1, 2, yes").score == 0.0
    for at, reported in enumerate(given.steps):
        if not any(each not in given.instruction for each in reported.says):
            continue
        world = given.world.copy()
        for each in (*given.steps[:at], rambling(reported), *given.steps[at + 1 :]):
            carry_out(world, each)
        assert judge(given.world, world, given, None).score == 0.0, reported


def rambling(reported: Step) -> Step:
    """The step with a text of all the words to choose from, or of ten other figures, of one where there may be none."""
    free = next(name for name in ("body", "text", "note") if name in reported.arguments)
    figures = [re.sub(r"\d", str(digit), reported.says[0]) for digit in range(1 if reported.says_only else 10)]
    assert reported.among or figures[0] != reported.says[0], "words that have to be found are some of a list"
    return replace(
        reported, arguments={**reported.arguments, free: ", ".join((*reported.says, *(reported.among or figures)))}
    )


@each_template
def test_a_task_is_the_same_each_time_and_seeds_differ(template: str) -> None:
    first, again = task(template, 0), make_task(template, 0)
    assert again.world.state() == first.world.state()
    assert (again.instruction, again.steps, again.answer) == (first.instruction, first.steps, first.answer)
    assert task(template, 1).world.state() != first.world.state()
    assert not first.world.log


@each_template
def test_the_instruction_contains_no_id(template: str) -> None:
    given = task(template, 0)
    ids = {
        key
        for name in ("mails", "events", "contacts", "payees", "transactions", "requests", "accounts", "issues", "rows")
        for key in given.world.tables[name]
    }
    assert not [key for key in ids if key in given.instruction]


@each_template
def test_the_declarations_of_a_template_are_correct(template: str) -> None:
    reported, given = templates()[template], task(template, 0)
    assert isinstance(reported, Template)
    assert set(reported.apps) <= set(sites())
    assert {step.app for step in given.steps} <= set(reported.apps)
    assert (reported.tier == "simple") == (len(reported.apps) == 1)
    assert isinstance(given.answer, int | str | None)
    assert given.answer is not None or given.steps


def test_there_are_ten_tasks_an_application_of_every_level_and_many_workflows() -> None:
    found = templates().values()
    counts = Counter(each.apps[0] for each in found if each.tier == "simple")
    assert set(counts) == set(sites())
    assert min(counts.values()) >= 10
    for app in sites():
        assert {each.level for each in found if each.apps == (app,)} == {1, 2, 3}
    assert sum(each.tier == "workflow" for each in found) >= 15


def test_an_unknown_template_is_rejected_with_a_suggestion() -> None:
    with pytest.raises(UnknownNameError, match="mail-archive"):
        make_task("mail-archiv", 0)
