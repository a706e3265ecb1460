"""Judges whether a task is done: every wanted change was made, and no other.

The wanted changes are derived from the task's steps, executed on a copy of the initial world. Existing records are
compared field by field. A new record may have any id, any position, and any wording in its free text. The free text
must contain the required figures. It may contain only a few others, so a text with every number does not pass, and none
of the other words that the task offered as choices. Any other change is collateral damage, and makes the score 0.

Parts of the score: `changes`, the wanted changes that were made, and `answer`, a correct answer, each as a share of
everything wanted; `damage`, the loss of both by collateral damage.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from cairn.envs.office.changes import Change, changes
from cairn.envs.office.task import Answer, OfficeTask, Step
from cairn.envs.office.world import World

PARTS = ("changes", "answer", "damage")  # of a score
MAX_OTHER_FIGURES = 8  # maximum in a free text, in addition to the required ones
_FIGURE = re.compile(r"\d+(?:[.:-]\d+)*")

Makers = Mapping[tuple[str, str], Step]  # (table, key of a new record) -> the step that made it


@dataclass(frozen=True, kw_only=True, slots=True)
class _Wishes:
    """Settings for the comparison of new records with wanted ones."""

    free: frozenset[tuple[str, str]]  # texts that may be worded freely, as (table, field)
    makers: Makers


@dataclass(frozen=True, kw_only=True, slots=True)
class Verdict:
    """The result of a task."""

    success: bool  # all wanted changes, no others
    score: float  # 0 to 1: the share of wanted changes; 0 with any collateral damage
    problems: tuple[str, ...]  # descriptions of missing and of unwanted changes
    parts: Mapping[str, float]  # of the score, by name; their sum is the score


def judge(before: World, after: World, task: OfficeTask, answer: object) -> Verdict:
    """Compare the final world with the task's reference, executed on the initial world.

    `answer` counts only if the task asks for one.
    """
    expected, makers = _expected(before, task.steps)
    wanted, made = changes(before, expected), changes(before, after)
    missing, damage = _compare(wanted, made, _Wishes(free=before.free, makers=makers))
    problems = [f"missing: {change.text}" for change in missing] + [f"not asked for: {each.text}" for each in damage]
    num_wanted, num_missing, num_right = len(wanted), len(missing), 0
    if task.answer is not None:
        num_wanted += 1
        if is_same_answer(task.answer, answer):
            num_right = 1
        else:
            num_missing += 1
            problems.append(f"wrong answer: {answer!r:.200}")
    score = 1 - num_missing / num_wanted
    parts = {
        "changes": (len(wanted) - len(missing)) / num_wanted,
        "answer": num_right / num_wanted,
        "damage": -score if damage else 0.0,
    }
    return Verdict(success=not problems, score=0.0 if damage else score, problems=tuple(problems), parts=parts)


def carry_out(world: World, step: Step) -> None:
    """Execute one step of a reference solution."""
    world.call(step.app, step.name, step.arguments)


def is_same_answer(expected: Answer, given: object) -> bool:
    """Return whether an answer is correct.

    Numbers are compared by value, texts without case and extra spaces, lists in any order.
    """
    if isinstance(expected, tuple):
        if not isinstance(given, list | tuple) or not all(isinstance(each, str) for each in given):
            return False
        return sorted(map(_plain, expected)) == sorted(map(_plain, given))
    if isinstance(expected, int):
        if isinstance(given, str):
            return given.strip() == str(expected)
        return isinstance(given, int | float) and not isinstance(given, bool) and given == expected
    return isinstance(given, str) and _plain(given) == _plain(expected)


def _plain(text: str) -> str:
    return " ".join(text.casefold().split())


def _expected(before: World, steps: Sequence[Step]) -> tuple[World, Makers]:
    """Return the wanted world, and the step of each new record whose text has requirements."""
    world = before.copy()
    makers: dict[tuple[str, str], Step] = {}
    for step in steps:
        known = {table: set(records) for table, records in world.tables.items()} if step.says else {}
        carry_out(world, step)
        tables = world.tables
        for table, keys in known.items():
            makers.update({(table, key): step for key in tables[table] if key not in keys})
    return world, makers


def _compare(wanted: list[Change], made: list[Change], wishes: _Wishes) -> tuple[list[Change], list[Change]]:
    """Return the missing wanted changes, and the unwanted changes."""
    places = {change.place for change in made if change.what != "new"}
    missing = [change for change in wanted if change.what != "new" and change.place not in places]
    places = {change.place for change in wanted if change.what != "new"}
    damage = [change for change in made if change.what != "new" and change.place not in places]
    lost, left = _match(
        [change for change in wanted if change.what == "new"],
        [change for change in made if change.what == "new"],
        wishes,
    )
    return missing + lost, damage + left


def _match(wanted: list[Change], made: list[Change], wishes: _Wishes) -> tuple[list[Change], list[Change]]:
    """Pair as many new records as possible with wanted ones; return those without a partner.

    Uses augmenting paths.
    """
    fits = [[at for at, change in enumerate(made) if _is_wanted(change, wish, wishes)] for wish in wanted]
    partner: dict[int, int] = {}  # index of a made record -> index of the wanted one

    def pair(wish: int, tried: set[int]) -> bool:
        for at in fits[wish]:
            if at not in tried:
                tried.add(at)
                if at not in partner or pair(partner[at], tried):
                    partner[at] = wish
                    return True
        return False

    lost = [wish for at, wish in enumerate(wanted) if not pair(at, set())]
    return lost, [change for at, change in enumerate(made) if at not in partner]


def _is_wanted(change: Change, wish: Change, wishes: _Wishes) -> bool:
    if change.table != wish.table:
        return False
    given, asked = change.value, wish.value
    assert isinstance(given, dict)  # both are new records
    assert isinstance(asked, dict)
    fixed = [name for name in asked if (wish.table, name) not in wishes.free]
    if any(given[name] != asked[name] for name in fixed):
        return False
    maker = wishes.makers.get((wish.table, wish.key))
    return maker is None or _meets_requirements("\n".join(given[name] for name in given if name not in fixed), maker)


def _meets_requirements(text: str, maker: Step) -> bool:
    """Return whether a text satisfies a step's requirements.

    It must contain every required figure or word as a whole, no other choice, and few other figures.
    """
    text = re.sub(r"(?<=\d),(?=\d{3})", "", text).casefold()  # 1,250.00
    text = re.sub(r"(?<=\d)t(?=\d\d:\d\d)", " ", text)  # 2031-05-04T09:30
    wanted = [each.casefold() for each in maker.says]
    if not all(_has(text, each) for each in wanted):
        return False
    for each in wanted:
        text = text.replace(each, " ")
    if any(_has(text, each.casefold()) for each in maker.among):
        return False
    others = _FIGURE.findall(text)
    forms = {_form(figure) for each in wanted for figure in _FIGURE.findall(each)}
    return len(others) <= MAX_OTHER_FIGURES and not (maker.says_only and forms & {_form(other) for other in others})


def _has(text: str, word: str) -> bool:
    return re.search(rf"(?<![\w.]){re.escape(word)}(?![\w]|\.\d)", text) is not None


def _form(figure: str) -> str:
    return re.sub(r"\d", "9", figure)
