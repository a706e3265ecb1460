"""The validator, by hand in a tiny office: completed work, allowed variation, and damage."""

from __future__ import annotations

import pytest

from cairn.envs.office.changes import changes
from cairn.envs.office.task import Answer, OfficeTask, Plan, Step, TaskTemplate, source, step
from cairn.envs.office.validator import Verdict, carry_out, is_same_answer, judge
from cairn.envs.office.world import World
from tests.envs.office.desk import desk
from tests.envs.office.tiny import SAM, ZOE, tiny


def _plan(world: World, rng: object) -> Plan:
    raise NotImplementedError


def verdict(wanted: list[Step], made: list[Step], asked: Answer | None = None, answer: object = None) -> Verdict:
    """The validator's verdict when some steps are wanted and others are made."""
    world, done = tiny(), tiny()
    template = TaskTemplate(name="test", level=1, apps=("mail",), make=_plan)
    task = OfficeTask(
        template=template, seed=0, world=world, instruction="", steps=tuple(wanted), answer=asked, oracle=""
    )  # fmt: skip
    for each in made:
        carry_out(done, each)
    return judge(world, done, task, answer)


def trash(mail_id: str) -> Step:
    return step("mail", "move", mail_id=mail_id, folder="trash")


def send(body: str, *to: str, says: tuple[str, ...] = ()) -> Step:
    return step("mail", "send", to=list(to or (SAM,)), subject="Hi", body=body, says=says)


def pay(amount: int, note: str = "") -> Step:
    return step("payments", "transfer", account_id="a1", payee_id="p1", amount=amount, note=note)


def test_the_score_is_the_share_of_changes_made() -> None:
    wanted = [trash("m1"), trash("m2"), trash("m3"), pay(5)]
    parts = {"changes": 1.0, "answer": 0.0, "damage": 0.0}
    assert verdict(wanted, wanted) == Verdict(success=True, score=1.0, problems=(), parts=parts)
    assert verdict(wanted, wanted[:3]).score == 0.75
    assert verdict(wanted, wanted[3:]).score == 0.25
    assert verdict(wanted, []).score == 0.0


def test_problems_are_described_in_words() -> None:
    found = verdict([trash("m1"), pay(5)], [trash("m1"), pay(5), pay(5), trash("m3")])
    assert found.score == 0.0
    assert found.problems == (
        "not asked for: mails 'm3' (Fence): folder is 'trash', was 'inbox'",
        "not asked for: new in transactions: account 'a1', amount -5, kind 'transfer', party 'p1'",
    )
    assert verdict([trash("m1")], []).problems == ("missing: mails 'm1' (Fence): folder is 'trash', was 'inbox'",)
    gone = step("files", "delete", path="/top.txt")
    assert verdict([trash("m1")], [trash("m1"), gone]).problems == ("not asked for: files '/top.txt' is gone",)


def test_a_change_to_a_wrong_value_is_missing_and_damage() -> None:
    found = verdict([trash("m1"), trash("m3")], [trash("m1"), step("mail", "move", mail_id="m3", folder="archive")])
    assert (found.success, found.score, len(found.problems)) == (False, 0.0, 2)


def test_a_change_that_is_undone_does_not_count_as_a_change() -> None:
    there_and_back = [step("mail", "mark", mail_id="m1", read=read) for read in (True, False)]
    assert verdict([trash("m3")], [*there_and_back, trash("m3")]).success


def test_order_and_new_ids_do_not_matter() -> None:
    wanted = [send("1", SAM), send("2", ZOE), pay(5), pay(6)]
    assert verdict(wanted, [pay(6), send("2", ZOE), pay(5), send("1", SAM)]).success
    made_and_deleted = [step("files", "write", path="/x.txt", text=""), step("files", "delete", path="/x.txt")]
    assert verdict(wanted, [*made_and_deleted, *wanted]).success


def test_recipients_count_in_any_order_and_none_more() -> None:
    assert verdict([send("", SAM, ZOE)], [send("", ZOE, SAM)]).success
    for made in (send("", SAM), send("", SAM, ZOE, "bo@home.example")):
        assert verdict([send("", SAM, ZOE)], [made]).score == 0.0


@pytest.mark.parametrize(
    ("body", "is_right"),
    [
        ("Your share is 12.50, thank you!", True),
        ("$12.50", True),
        ("(12.50)", True),
        ("It is 12.50.", True),
        ("112.50", False),
        ("12.501", False),
        ("12.5", False),
        ("1250", False),
        ("", False),
        ("12.50 " + " ".join(str(number) for number in range(100, 108)), True),
        ("12.50 " + " ".join(str(number) for number in range(100, 109)), False),  # one figure too many
    ],
)
def test_a_free_text_must_contain_its_figures_and_not_all_figures(body: str, is_right: bool) -> None:
    assert verdict([send("12.50", says=("12.50",))], [send(body)]).success == is_right


def test_figures_may_have_a_comma_and_moments_a_t() -> None:
    assert verdict([send("1250.00", says=("1250.00",))], [send("1,250.00 in all")]).success
    assert verdict([send("x 2031-05-06 10:00", says=("2031-05-06 10:00",))], [send("On 2031-05-06T10:00!")]).success
    assert not verdict([send("2031-05-06 10:00", says=("2031-05-06 10:00",))], [send("2031-05-06 10:30")]).success


def test_a_list_that_is_to_be_complete_has_no_other_figures_of_its_form() -> None:
    def tell(body: str) -> Step:
        return step("mail", "send", to=[SAM], subject="Hi", body=body, says=("2031-05-06 10:00",), says_only=True)

    for right in ("2031-05-06 10:00", "2 of us meet on 2031-05-06T10:00 for 60 minutes"):
        assert verdict([tell("2031-05-06 10:00")], [tell(right)]).success
    for wrong in ("2031-05-06 10:00 and 11:00", "2031-05-06 10:00, 2031-05-07 10:00"):
        assert not verdict([tell("2031-05-06 10:00")], [tell(wrong)]).success


def test_a_text_may_contain_only_the_wanted_word_of_several_choices() -> None:
    def tell(body: str) -> Step:
        among = ("open", "in progress", "blocked")
        return step("mail", "send", to=[SAM], subject="Hi", body=body, says=("in progress",), among=among)

    for right in ("In progress", "It is in progress, reopened and unblocked. In progress!"):
        assert verdict([tell("in progress")], [tell(right)]).success, right
    for wrong in ("open, in progress, blocked", "In progress; Blocked!", "progress", "open"):
        assert not verdict([tell("in progress")], [tell(wrong)]).success, wrong


def test_new_records_are_paired_so_that_as_many_as_possible_fit() -> None:
    """The first mail made says both figures; it must be taken for the second, which no other says."""
    wanted = [send("1.00", says=("1.00",)), send("2.00", says=("2.00",))]
    assert verdict(wanted, [send("1.00 and 2.00"), send("1.00")]).success
    assert verdict(wanted, [send("1.00"), send("1.00")]).score == 0.0


def test_a_second_copy_is_damage() -> None:
    assert verdict([send("")], [send(""), send("")]).problems[0].startswith("not asked for: new in mails")


def test_a_new_mail_does_not_count_as_a_reply() -> None:
    reply = step("mail", "reply", mail_id="m3", body="")
    new = step("mail", "send", to=[ZOE], subject="Re: Fence", body="")
    assert not verdict([reply], [new]).success
    assert not verdict([new], [reply]).success


def test_a_draft_left_over_is_damage() -> None:
    draft = step("mail", "save_draft", to=[SAM], subject="Hi", body="")
    assert verdict([send("")], [send(""), draft]).score == 0.0
    assert not verdict([send("")], [draft]).success


def test_white_space_at_the_ends_of_lines_does_not_matter_and_anything_else_does() -> None:
    def write(text: str) -> Step:
        return step("files", "write", path="/a.txt", text=text)

    for same in ("a\nb\n", "a\nb", "a \nb\t\n\n", "\na\r\nb"):
        assert verdict([write("a\nb\n")], [write(same)]).success, same
    for other in ("a\nb\nc", "b\na", " a\nb", "a\n\nb", "ab"):
        assert not verdict([write("a\nb\n")], [write(other)]).success, other


def test_sets_change_element_by_element() -> None:
    wanted = [step("mail", "add_label", mail_id="m3", label=label) for label in ("a", "b")]
    assert verdict(wanted, wanted[:1]).score == 0.5
    assert verdict(wanted, wanted[::-1]).success
    lost = [*wanted, step("mail", "remove_label", mail_id="m3", label="home")]
    assert verdict(wanted, lost).problems == ("not asked for: mails 'm3' (Fence): labels lost 'home'",)


def test_records_that_refer_to_new_ones_are_compared_by_content() -> None:
    """Other ids, because something else was made before: the new contact is the same person in the group."""
    world, done = tiny(), tiny()

    def add(to: World, first: str) -> None:
        to.call("contacts", "create", {"name": first, "emails": [f"{first.lower()}@home.example"]})
        key = next(key for key, contact in to.contacts.contacts.items() if contact.name == first)
        to.call("contacts", "add_to_group", {"group": "Choir", "contact_id": key})

    add(world, "Bo")
    done.call("contacts", "create", {"name": "Al", "emails": ["al@home.example"]})
    done.call("contacts", "delete", {"contact_id": next(reversed(done.contacts.contacts))})
    add(done, "Bo")
    assert set(world.contacts.contacts) != set(done.contacts.contacts)
    reported = [[(change.what, change.value) for change in changes(tiny(), each)] for each in (world, done)]
    assert reported[0] == reported[1]
    assert ("members +", "new contact bo@home.example") in reported[0]


def test_balances_follow_from_transactions_and_are_not_counted() -> None:
    assert [change.what for change in changes(*_before_and_after(pay(5)))] == ["new"]
    assert len(changes(*_before_and_after(step("payments", "pay_request", request_id="r1", account_id="a1")))) == 2


def _before_and_after(*steps: Step) -> tuple[World, World]:
    world = tiny()
    for each in steps:
        carry_out(world, each)
    return tiny(), world


@pytest.mark.parametrize(
    ("expected", "given", "is_same"),
    [
        (12, 12, True),
        (12, 12.0, True),
        (12, " 12 ", True),
        (12, "12.0", False),
        (12, 13, False),
        (1, True, False),
        (12, None, False),
        ("Sam Field", " sam  FIELD", True),
        ("Sam Field", "Sam", False),
        ("12", 12, False),
        (("a", "b"), ["B", "a"], True),
        (("a", "b"), ("b", "a"), True),
        (("a", "b"), ["a"], False),
        (("a", "b"), ["a", "b", "b"], False),
        (("a", "b"), "a, b", False),
        (("a", "b"), ["a", 1], False),
    ],
)
def test_answers(expected: Answer, given: object, is_same: bool) -> None:
    assert is_same_answer(expected, given) is is_same


def test_parts_of_the_score_are_changes_and_the_answer_and_a_loss_through_damage() -> None:
    wanted = [trash("m1"), trash("m2")]
    for made, answer, expected in (
        (wanted[:1], 4, (1 / 3, 0.0, 0.0)),
        (wanted[:1], 3, (1 / 3, 1 / 3, 0.0)),
        ([*wanted, pay(5)], 3, (2 / 3, 1 / 3, -1.0)),
        ([pay(5)], 4, (0.0, 0.0, 0.0)),
    ):
        found = verdict(wanted, made, asked=3, answer=answer)
        assert tuple(found.parts.values()) == pytest.approx(expected, abs=1e-12)
        assert found.score == pytest.approx(sum(expected), abs=1e-12)


def test_an_answer_counts_as_one_of_the_changes() -> None:
    assert verdict([trash("m1")], [trash("m1")], asked=3, answer=3).success
    found = verdict([trash("m1")], [trash("m1")], asked=3, answer=4)
    assert (found.score, found.problems) == (0.5, ("wrong answer: 4",))
    parts = {"changes": 0.0, "answer": 1.0, "damage": 0.0}
    assert verdict([], [], asked=3, answer=3) == Verdict(success=True, score=1.0, problems=(), parts=parts)
    assert verdict([], [pay(5)], asked=3, answer=3).score == 0.0
    assert verdict([trash("m1")], [trash("m1")], asked=None, answer="anything").success


def test_the_rules_name_real_tables_and_fields() -> None:
    world = desk()
    apps = world.apps.values()
    derived = [(table, name) for app in apps for table, names in app.derived.items() for name in names]
    for table, name in [*world.free, *(field for app in apps for field in app.sets), *derived]:
        assert hasattr(next(iter(world.tables[table].values())), name), (table, name)


def test_a_program_begins_with_its_values() -> None:
    text = source(Plan(instruction="", program="\nsubmit(who)\n", values={"who": "O'Hara"}))
    assert text.startswith('who = "O\'Hara"\n')
    assert text.endswith("\nsubmit(who)\n")
