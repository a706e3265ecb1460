"""Hidden tests: cheats score nothing, unusual correct code scores all, and values are transferred unchanged."""

from __future__ import annotations

import datetime
import decimal
import fractions
import json
import time
from collections import Counter, deque
from collections.abc import Iterator
from pathlib import Path
from typing import Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cairn.core.errors import RewardFailure
from cairn.envs.code.inside import values
from cairn.envs.code.judge import HiddenTests, Judge, TestVerdict
from cairn.sandboxes.base import Limits
from cairn.sandboxes.pool import SessionPool
from cairn.sandboxes.registry import new_sandbox
from tests.sampling import sampled_params

SUBMISSIONS = Path(__file__).parent / "submissions"
CHEATS = {path.stem: path.read_text() for path in sorted((SUBMISSIONS / "cheats").glob("*.py"))}
RIGHT = {path.stem: path.read_text() for path in sorted((SUBMISSIONS / "right").glob("*.py"))}
ASSERTS = """
assert candidate([1, 2, 3]) == 6
assert candidate([-5, 2.5]) == -2.5
assert candidate([10] * 7) == 70
assert not candidate([1]) != 1
"""
FUNCTIONS = """
from solution import add_all

def test_sum():
    assert add_all([1, 2, 3]) == 6

def test_other():
    assert add_all([4, 5, 60]) == 69
"""
UNITTEST = """
import unittest

class TestSum(unittest.TestCase):
    def test_a(self):
        self.assertEqual(add_all([1, 2, 3]), 6)

    def test_b(self):
        self.assertEqual(add_all([40, 2]), 42)
        self.assertNotEqual(add_all([40, 2]), 43)
"""
INPUTS = ("([1, 2, 3],)", "([40, 2],)", "([0.5, 0.25],)")
IS_SAME = "reference = sum\ndef is_same(given, expected):\n    return given == expected\n"
HERE, NAME = ("solution",), ("solution", "add_all")
JOBS = {  # of one task: `add_all(numbers)` returns the sum
    "asserts": HiddenTests(style="asserts", tests=ASSERTS, modules=HERE, names={"candidate": NAME}),
    "functions": HiddenTests(style="functions", tests=FUNCTIONS, modules=HERE),
    "unittest": HiddenTests(style="unittest", tests=UNITTEST, modules=HERE, names={"add_all": NAME}),
    "reference": HiddenTests(
        style="reference", prelude=IS_SAME, inputs=INPUTS, modules=HERE, names={"candidate": NAME}
    ),
}

pytestmark = [pytest.mark.rotating(3), pytest.mark.xdist_group("judge")]


@pytest.fixture(scope="module")
def judge() -> Iterator[Judge]:
    pool = SessionPool(new_sandbox(), Limits(wall_s=30, cpu_s=30))
    yield Judge(pool, call_timeout_s=0.5, all_s=10)
    pool.close()


def judged(judge: Judge, source: str, job: HiddenTests) -> TestVerdict:
    return judge.judge({"solution.py": source.encode()}, {}, job)


@pytest.mark.parametrize(("name", "style"), sampled_params([(name, style) for name in CHEATS for style in JOBS], 7))
def test_cheats_score_nothing(judge: Judge, name: str, style: str) -> None:
    verdict = judged(judge, CHEATS[name], JOBS[style])
    assert verdict.share == 0.0, verdict
    assert not verdict.is_right


@pytest.mark.parametrize(("name", "style"), sampled_params([(name, style) for name in RIGHT for style in JOBS], 3))
def test_correct_code_scores_1_in_every_style(judge: Judge, name: str, style: str) -> None:
    verdict = judged(judge, RIGHT[name], JOBS[style])
    assert verdict.is_right, verdict
    assert verdict.share == 1.0


@pytest.mark.parametrize(("kind", "name", "is_sign"), [
    ("cheats", "a_verdict_on_every_descriptor", True), ("cheats", "the_stub", False),
    ("right", "prints_what_looks_like_a_verdict", False), ("right", "plain", False),
])  # fmt: skip
def test_writing_where_answers_are_read_is_counted(judge: Judge, kind: str, name: str, is_sign: bool) -> None:
    source = (SUBMISSIONS / kind / f"{name}.py").read_text()
    assert bool(judged(judge, source, JOBS["functions"]).intrusions) is is_sign


def test_there_are_enough_cheats_and_correct_solutions() -> None:
    assert len(CHEATS) >= 60
    assert len(RIGHT) >= 20


def test_a_share_is_of_all_tests(judge: Judge) -> None:
    verdict = judged(judge, "def add_all(numbers):\n    return 6 if len(numbers) == 3 else 1", JOBS["asserts"])
    assert verdict.passed == (True, False, False, True)
    assert verdict.share == 0.5
    assert verdict.problems == ("assertion 2: AssertionError: ", "assertion 3: AssertionError: ")


def test_functions_that_code_puts_in_place_of_others_are_the_ones_called(judge: Judge) -> None:
    source = "def f():\n    global f\n    f = lambda: 2\n    return 1\ndef g():\n    global f\n    del f"
    tests = "import solution\ndef test():\n    assert [solution.f(), solution.f()] == [1, 2]\n    solution.g()\n"
    tests += "    assert not hasattr(solution, 'f')"
    assert judged(judge, source, HiddenTests(style="functions", tests=tests, modules=("solution",))).is_right


@pytest.mark.parametrize("style", ["functions", "unittest"])
@pytest.mark.parametrize("reads_clock", [True, False])
def test_a_clock_that_advances_between_two_runs_does_not_fail_correct_code(
    judge: Judge, style: Literal["functions", "unittest"], reads_clock: bool
) -> None:
    """The first time the seconds differ; a test that reads no clock is run once."""
    count = "import datetime\nwith open('seen', 'a') as file:\n    file.write('x')\n    count = file.tell()\n"
    value = "datetime.datetime.now().second * 0 + count" if reads_clock else "count"
    body = {
        "functions": f"{count}def test():\n    assert add_all([2]) == {value}",
        "unittest": f"import unittest\n{count}class Test(unittest.TestCase):\n    def test(self):\n"
        f"        self.assertEqual(add_all([3]), {value})",  # this style runs the source once before
    }
    job = HiddenTests(style=style, tests=body[style], modules=HERE, names={"add_all": NAME})
    assert judged(judge, RIGHT["plain"], job).is_right is reads_clock


@pytest.mark.parametrize("style", JOBS)
@pytest.mark.parametrize(
    "source", ["def add_all(numbers:", "raise SyntaxError('not mine')", "raise BaseException", "\0"]
)
def test_code_that_cannot_be_loaded_scores_0_and_is_not_an_environment_failure(
    judge: Judge, style: str, source: str
) -> None:
    verdict = judged(judge, source, JOBS[style])
    assert verdict.share == 0.0
    assert not verdict.is_right


def test_given_files_are_put_back(judge: Judge) -> None:
    job = HiddenTests(
        style="functions",
        tests="from solution import f\ndef test_f():\n    assert f() == 'given'",
        modules=("solution",),
    )
    source = b"import table\ndef f():\n    return table.value"
    changed = {"solution.py": source, "table.py": b"value = 'changed'"}
    assert not judge.judge(changed, {}, job).is_right
    assert judge.judge(changed, {"table.py": b"value = 'given'"}, job).is_right


def test_broken_hidden_tests_raise_a_reward_failure(judge: Judge) -> None:
    broken = HiddenTests(style="asserts", tests="assert 1", prelude="1 / 0", modules=("solution",))
    with pytest.raises(RewardFailure, match="ZeroDivisionError"):
        judged(judge, "", broken)
    with pytest.raises(RewardFailure, match="SyntaxError"):
        judged(judge, "", HiddenTests(style="asserts", tests="assert (", modules=("solution",)))


def test_a_sandbox_that_cannot_load_modules_raises_a_reward_failure(
    judge: Judge, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("cairn.envs.code.judge.MODULES", ("no_such_module",))
    with pytest.raises(RewardFailure, match=r"cannot load its modules: .*no_such_module"):
        judged(judge, "def add_all(numbers):\n    return 7", JOBS["asserts"])


@pytest.mark.parametrize(("bound", "value"), [("_MOST_ANSWERS", 4), ("_MOST_BYTES", 150)])
def test_answers_beyond_a_bound_fail_their_tests(monkeypatch: pytest.MonkeyPatch, bound: str, value: int) -> None:
    """Each of thirty tests calls once; the import is an answer too."""
    monkeypatch.setattr(f"cairn.envs.code.judge.{bound}", value)
    pool = SessionPool(new_sandbox())
    tests = "from solution import f\n" + "".join(f"def test_{i}(): assert f() == 6\n" for i in range(30))
    verdict = judged(
        Judge(pool), "def f(): return 6", HiddenTests(style="functions", tests=tests, modules=("solution",))
    )
    pool.close()
    passed = sum(verdict.passed)
    assert 0 < passed < 30
    assert verdict.passed == (True,) * passed + (False,) * (30 - passed)
    assert "bytes of them" in verdict.problems[-1]


ENDS = {
    "deep": "[" * 100_000,
    "wide": '{"value": [' + "0," * 1_000_000 + "0]}",
    "long number": '{"value": ' + "9" * 100_000 + "}",
    "unknown type": '{"value": {"type": "os.system", "arguments": ["true"]}}',
}


@pytest.mark.parametrize("name", ENDS)
def test_answers_that_aim_at_the_tests_process_score_nothing(judge: Judge, name: str) -> None:
    source = f"def add_all(numbers):\n    import os\n    os.write(3, {ENDS[name]!r}.encode() + b'\\n')\n    os._exit(0)"
    began = time.monotonic()
    assert judged(judge, source, JOBS["asserts"]).share == 0.0
    assert time.monotonic() - began < 30


OBJECTS = """
class BoxError(Exception):
    pass

class Full(BoxError):
    def __init__(self, name, number):
        super().__init__(name, number)
        self.name = name

class Closed(KeyError):
    pass

class Box:
    limit = 2
    def __init__(self, *things, name="box"):
        self.things, self.name = list(things), name
    def put(self, thing):
        if len(self.things) >= self.limit:
            raise Full(self.name, 3)
        self.things.append(thing)
        return self
    def close(self):
        raise Closed("shut")
    def __len__(self):
        return len(self.things)
    def __iter__(self):
        return iter(self.things)
    def __getitem__(self, i):
        return self.things[i]
    def __setitem__(self, i, thing):
        self.things[i] = thing
    def __contains__(self, thing):
        return thing in self.things
    def joined(self, other):
        return Box(*self.things, *other.things)
    @property
    def total(self):
        return sum(self.things)
    def numbers(self):
        yield from self.things
    def pick(self, kind):
        return [t for t in self.things if isinstance(t, kind)]

def make(n):
    return [Box(i) for i in range(n)]

def sort(numbers):
    numbers.sort()
"""
USES = """
import solution
from solution import Box, BoxError, Closed, Full, make, sort

def test_methods_and_attributes():
    box = Box(1, name="b")
    assert box.put(5).total == 6 and box.name == "b" and Box.limit == 2
    box.name = "c"
    assert box.name == "c" and len(box) == 2 and list(box) == [1, 5] and box[1] == 5 and 5 in box and bool(box)
    box[0] = 9
    assert box.things == [9, 5] and [n for n in box.numbers()] == [9, 5] and next(iter(box)) == 9

def test_lists_of_an_object_can_be_changed():
    box = Box()
    box.things.append(4)
    assert box.total == 4
    held = box.things
    held += [5]
    assert box.total == 9

def test_exceptions():
    box = Box(1, 2)
    try:
        box.put(3)
    except Full as error:
        assert error.args == ("box", 3) and error.name == "box"
    else:
        raise AssertionError("no Full")
    try:
        box.put(3)
    except BoxError as error:
        assert str(error) == "('box', 3)"
    try:
        box.close()
    except KeyError as error:
        assert error.args == ("shut",)
    try:
        box.close()
    except Closed:
        pass
    try:
        box.nothing
    except AttributeError:
        pass
    else:
        raise AssertionError

def test_objects_in_lists_and_as_arguments():
    boxes = make(3)
    assert [box.total for box in boxes] == [0, 1, 2]
    assert list(boxes[1].joined(boxes[2])) == [1, 2]
    assert isinstance(boxes[0], Box) and not isinstance(boxes[0], Full)

def test_arguments_that_are_changed():
    numbers = [3, 1, 2]
    assert sort(numbers) is None and numbers == [1, 2, 3]

def test_builtin_types_cross():
    assert Box(1, "a", 2.5).pick(str) == ["a"]

def test_each_test_begins_anew():
    assert solution.Box.limit == 2
    solution.Box.limit = 3
"""


def test_objects_of_the_tested_code_are_used_as_if_they_were_here(judge: Judge) -> None:
    verdict = judged(judge, OBJECTS, HiddenTests(style="functions", tests=USES, modules=("solution",)))
    assert verdict.is_right, verdict.problems
    assert len(verdict.passed) == 7


PLAIN = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text() | st.binary()
    | st.complex_numbers(allow_nan=False) | st.decimals(allow_nan=False) | st.fractions() | st.dates() | st.datetimes()
    | st.timedeltas() | st.just(range(1, 9, 3)),
    lambda inner: st.lists(inner, max_size=4) | st.tuples(inner, inner) | st.dictionaries(st.text(), inner, max_size=3)
    | st.lists(inner, max_size=3).map(deque),
    max_leaves=12,
)  # fmt: skip


@given(PLAIN)
def test_values_cross_as_they_are(value: object) -> None:
    def no(_: object) -> object:
        raise AssertionError("it is plain")

    crossed = values.decode(json.loads(json.dumps(values.encode(value, no))), no)
    assert crossed == value
    assert type(crossed) is type(value)


def test_more_kinds_of_values() -> None:
    for value in (
        {1, 2}, 1 << 20_000, frozenset({"a"}), Counter("aab"), {(1, 2): {3}}, bytearray(b"x"), int, float("inf"),
        decimal.Decimal("1.10"), fractions.Fraction(1, 3), datetime.time(1, 2),
    ):  # fmt: skip
        crossed = values.decode(values.encode(value, repr), repr)
        assert (crossed, type(crossed)) == (value, type(value))
    assert str(values.decode(values.encode([True, 1, 1.0, -0.0], repr), repr)) == "[True, 1, 1.0, -0.0]"
