"""Properties of the tasks, for every template by discovery: all that is asked, and nothing besides, succeeds."""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
from collections import Counter
from functools import cache
from typing import Any

import pytest

from cairn.core.errors import UnknownNameError
from cairn.core.seeding import python_generator
from cairn.envs.office.calls import OfficeError
from cairn.envs.office.changes import changes
from cairn.envs.office.documentation import APPS
from cairn.envs.office.task import OfficeTask, Step, step
from cairn.envs.office.tasks import make_task, templates
from cairn.envs.office.validator import carry_out, judge
from cairn.envs.office.world import World
from tests.envs.office.client import run

pytestmark = pytest.mark.rotating(4)

SEEDS = range(20)
WRONG: tuple[object, ...] = (None, "perhaps", "", 0, [], True)
each_template = pytest.mark.parametrize("template", templates())


@cache
def tasks(template: str) -> list[OfficeTask]:
    return [make_task(template, seed) for seed in SEEDS]


@cache
def solved(template: str) -> list[World]:
    """The worlds after all steps of the references; to be copied."""
    return [after(task, task.steps) for task in tasks(template)]


@cache
def played(template: str) -> list[tuple[World, object]]:
    """The worlds after the oracles' programs, and the submissions."""
    worlds = [task.world.copy() for task in tasks(template)]
    return [(world, run(task.oracle, world)) for task, world in zip(tasks(template), worlds, strict=True)]


def after(task: OfficeTask, steps: list[Step] | tuple[Step, ...]) -> World:
    """The world after some steps; one that cannot be taken because another is left out is passed over."""
    world = task.world.copy()
    for each in steps:
        try:
            carry_out(world, each)
        except OfficeError:
            assert len(steps) < len(task.steps)
    return world


@each_template
def test_doing_nothing_fails(template: str) -> None:
    for task in tasks(template):
        verdict = judge(task.world, task.world.copy(), task, None)
        assert not verdict.success
        assert verdict.score == 0.0
        assert verdict.problems


@each_template
def test_the_reference_succeeds(template: str) -> None:
    for task, done in zip(tasks(template), solved(template), strict=True):
        verdict = judge(task.world, done, task, task.answer)
        assert (verdict.success, verdict.score, verdict.problems) == (True, 1.0, ())


@each_template
def test_each_step_of_the_reference_is_needed(template: str) -> None:
    for task in tasks(template):
        for at in range(len(task.steps)):
            rest = task.steps[:at] + task.steps[at + 1 :]
            verdict = judge(task.world, after(task, rest), task, task.answer)
            assert not verdict.success
            assert verdict.score < 1
            assert any(problem.startswith("missing: ") for problem in verdict.problems)


@each_template
def test_a_wrong_answer_fails_where_one_is_asked(template: str) -> None:
    for task, done in zip(tasks(template), solved(template), strict=True):
        for wrong in WRONG if task.answer is not None else WRONG[:2]:
            success = judge(task.world, done, task, wrong).success
            assert success == (task.answer is None)


@each_template
def test_the_oracle_succeeds_by_public_calls(template: str) -> None:
    for task, (world, answer) in zip(tasks(template), played(template), strict=True):
        verdict = judge(task.world, world, task, answer)
        assert verdict.success, (task.seed, task.instruction, verdict.problems[:5])
        assert all(entry.ok for entry in world.log)


@each_template
def test_the_oracle_and_the_instruction_contain_no_id(template: str) -> None:
    for task in tasks(template):
        ids = {key for name, table in task.world.tables.items() for key in table if name not in ("files", "folders")}
        ids = {key for key in ids if key not in task.world.contacts.groups}
        ids |= {mail.thread for mail in task.world.mail.mails.values()}
        assert not any(key in task.oracle or key in task.instruction for key in ids)


def _damage(before: World, world: World, rng: random.Random) -> list[Step]:
    """One step of each kind that no task asks for, on records that the task has left as they were."""

    def pick(table: str) -> Any:  # Any: a record of any table
        old, new = before.tables[table], world.tables[table]
        return rng.choice([each for key, each in new.items() if old.get(key) is each])

    while (mail := pick("mails")).folder != "inbox":
        pass
    while (event := pick("events")).organizer != world.address or event.is_cancelled:
        pass
    path, contact, payee = pick("files").path, pick("contacts"), pick("payees").id
    account = rng.choice(list(world.payments.accounts))
    return [
        step("mail", "move", mail_id=mail.id, folder="archive"),
        step("mail", "add_label", mail_id=mail.id, label="extra"),
        step("mail", "mark", mail_id=mail.id, read=not mail.is_read),
        step("mail", "send", to=[contact.address], subject="Hello", body="Hello"),
        step("mail", "save_draft", to=[contact.address], subject="Hello", body="Hello"),
        step("calendar", "update", event_id=event.id, title="Something else"),
        step("calendar", "create", title="Lunch", start=world.now, minutes=30),
        step("calendar", "cancel", event_id=event.id),
        step("files", "append", path=path, text="more"),
        step("files", "delete", path=path),
        step("files", "copy", path=path, to="/copy.txt"),
        step("files", "share", path=path, address=contact.emails[-1]),
        step("contacts", "update", contact_id=contact.id, company="Elsewhere"),
        step("contacts", "create", name=contact.name, emails=["new@postbox.example"]),
        step("contacts", "delete", contact_id=contact.id),
        step("contacts", "create_group", group="Others"),
        step("payments", "transfer", account_id=account, payee_id=payee, amount=1),
        step("payments", "add_payee", name="Somebody", reference="0"),
        step("payments", "request_money", address=contact.address, amount=1),
    ]  # fmt: skip


@each_template
def test_any_other_change_fails_and_takes_the_whole_score(template: str) -> None:
    for task, done in zip(tasks(template), solved(template), strict=True):
        rng = python_generator("damage", template, task.seed)
        for extra in rng.sample(_damage(task.world, done, rng), 4):
            world = done.copy()
            carry_out(world, extra)
            if not changes(done, world):
                assert extra.name == "share"  # shared with that address already
                continue
            verdict = judge(task.world, world, task, task.answer)
            assert not verdict.success
            assert verdict.score == 0.0, (extra, verdict)
            assert any(problem.startswith("not asked for: ") for problem in verdict.problems)


@each_template
def test_every_step_done_twice_is_damage_or_changes_nothing(template: str) -> None:
    for task, done in zip(tasks(template)[:8], solved(template)[:8], strict=True):
        for each in task.steps:
            world = done.copy()
            try:
                carry_out(world, each)
            except OfficeError:
                continue
            assert judge(task.world, world, task, task.answer).success == (not changes(done, world))


@each_template
def test_a_task_is_the_same_each_time_and_differs_between_seeds(template: str) -> None:
    first, again = tasks(template)[0], make_task(template, 0)
    assert again.world.state() == first.world.state()
    assert (again.instruction, again.steps, again.answer) == (first.instruction, first.steps, first.answer)
    assert len({repr((task.instruction, task.steps, task.answer)) for task in tasks(template)}) > len(SEEDS) / 2
    assert not first.world.log


@each_template
def test_a_template_names_the_applications_that_its_oracle_uses(template: str) -> None:
    for task, (world, _) in zip(tasks(template), played(template), strict=True):
        assert {entry.app for entry in world.log} - {"world"} == set(task.template.apps)


@each_template
def test_money_is_conserved_in_the_records_that_a_task_adds(template: str) -> None:
    for task in tasks(template):
        sums = Counter({key: account.opening for key, account in task.world.payments.accounts.items()})
        for each in task.world.payments.transactions.values():
            sums[each.account] += each.amount
        assert sums == {key: account.balance for key, account in task.world.payments.accounts.items()}
        assert all(account.opening >= 0 for account in task.world.payments.accounts.values())


def test_there_are_templates_of_every_level_and_for_one_to_four_applications() -> None:
    found = templates().values()
    assert len(found) >= 24
    assert {template.level for template in found} == {1, 2, 3}
    assert {len(template.apps) for template in found} == {1, 2, 3, 4}
    assert {app for template in found for app in template.apps} == {app.name for app in APPS} - {"world"}


def test_an_unknown_template_is_rejected_with_a_suggestion() -> None:
    with pytest.raises(UnknownNameError, match="birthdays"):
        make_task("birthday", 0)


_DIGEST = """
import hashlib
from cairn.envs.office.tasks import make_task, templates
digest = hashlib.sha256()
for name in templates():
    for seed in (0, 1, 7_000_000):
        task = make_task(name, seed)
        digest.update(task.world.state() + repr((task.instruction, task.steps, task.answer, task.oracle)).encode())
print(digest.hexdigest())
"""


def test_tasks_are_the_same_in_every_process_and_under_every_hash_seed() -> None:
    digests = set()
    for hash_seed in ("0", "1"):
        environment = {**os.environ, "PYTHONHASHSEED": hash_seed}
        found = subprocess.run(
            [sys.executable, "-c", _DIGEST], env=environment, capture_output=True, text=True, check=True
        )
        digests.add(found.stdout)
    assert len(digests) == 1


def test_oracles_submit_json_values() -> None:
    task = make_task("birthdays", 0)
    answer = run(task.oracle, task.world.copy())
    assert isinstance(answer, list)
    assert sorted(answer) == json.loads(json.dumps(task.answer))
