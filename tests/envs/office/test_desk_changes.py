"""Completed work in issues, sheets and settings: new records are compared by content and not by id."""

from __future__ import annotations

from cairn.envs.office.task import OfficeTask, Plan, Step, TaskTemplate, step
from cairn.envs.office.validator import Verdict, carry_out, judge
from cairn.envs.office.world import World
from tests.envs.office.desk import desk
from tests.envs.office.tiny import SAM


def _plan(world: World, rng: object) -> Plan:
    raise NotImplementedError


def verdict(wanted: list[Step], done: World) -> Verdict:
    template = TaskTemplate(name="test", level=1, apps=("issues",), make=_plan)
    task = OfficeTask(template=template, seed=0, world=desk(), instruction="", steps=tuple(wanted), answer=None)
    return judge(task.world, done, task, None)


def add(cells: list[str]) -> Step:
    return step("sheets", "add_row", sheet="Costs", cells=cells)


def test_a_comment_belongs_to_the_new_issue_regardless_of_ids() -> None:
    report = step("issues", "create", project="Heron", title="Lamp", text="It blinks.", says=("blinks",))
    expected = desk()
    carry_out(expected, report)
    (key,) = set(expected.issues.issues) - set(desk().issues.issues)
    wanted = [report, step("issues", "comment", issue_id=key, text="E 7", says=("7",))]
    for where, text, is_right in (("Lamp", "7!", True), ("Lamp", "8!", False), ("Bell is mute", "7!", False)):
        done = desk()
        done.new_id("x")  # other ids from here on
        made = step("issues", "create", project="Heron", title="Lamp", text="The lamp blinks.")
        carry_out(done, made)
        issue = next(each.id for each in done.issues.issues.values() if each.title == where)
        carry_out(done, step("issues", "comment", issue_id=issue, text=text))
        assert verdict(wanted, done).success == is_right


def test_labels_and_teams_count_one_by_one() -> None:
    done = desk()
    carry_out(done, step("issues", "update", issue_id="i1", labels=["bug", "idea"]))
    assert verdict([step("issues", "update", issue_id="i1", labels=["bug", "idea"])], done).success
    found = verdict([step("issues", "update", issue_id="i1", labels=["idea"])], done)
    assert found.problems == ("missing: issues 'i1' (Door sticks): labels lost 'bug'",)
    assert found.score == 0.5  # 'idea' is there
    carry_out(done, step("settings", "update_user", address=SAM, teams=["Sales"]))
    assert not verdict([step("issues", "update", issue_id="i1", labels=["bug", "idea"])], done).success


def test_new_rows_count_in_any_order_and_a_second_copy_is_damage() -> None:
    wanted = [add(["Glue", "1", ""]), add(["Tape", "2", ""])]
    done = desk()
    for each in reversed(wanted):
        carry_out(done, each)
    assert verdict(wanted, done).success
    carry_out(done, wanted[0])
    found = verdict(wanted, done)
    assert (found.success, found.score) == (False, 0.0)
    assert found.problems[0].startswith("not asked for: new in rows: sheet 'Costs'")


def test_one_wrong_cell_is_damage() -> None:
    done = desk()
    carry_out(done, step("sheets", "update_row", row_id="w1", cells=["Paint", "13", ""]))
    assert verdict([step("sheets", "update_row", row_id="w1", cells=["Paint", "13", "2031-05-01"])], done).score == 0.0
