"""What linemerge should do: the tests that everybody sees."""

from linemerge.diff import apply, diff
from linemerge.errors import PatchFault
from linemerge.history import History
from linemerge.match import matches
from linemerge.show import summary, unified
from linemerge.three import merge


def test_common_lines():
    assert matches(["a", "b", "c"], ["b", "x", "c"]) == [(1, 0), (2, 2)]


def test_changes_lead_to_the_new_list():
    old, new = ["a", "b", "c", "d"], ["a", "x", "y", "d", "e"]
    assert diff(old, new) == [(1, 3, ["x", "y"]), (4, 4, ["e"])]
    assert apply(old, diff(old, new)) == new


def test_changes_must_fit():
    try:
        apply(["a"], [(0, 2, [])])
    except PatchFault:
        pass
    else:
        raise AssertionError("there is no second line")


def test_hunks():
    assert unified(["a", "b", "c", "d"], ["a", "x", "c", "d"]) == ["@@ 1,3 1,3 @@", " a", "-b", "+x", " c"]
    assert summary(["a", "b"], ["a", "c", "d"]) == "2 added, 1 removed"


def test_changes_of_both_sides_are_merged():
    merged = merge(["a", "b", "c"], ["A", "b", "c"], ["a", "b", "C"])
    assert merged.is_clean
    assert merged.lines() == ["A", "b", "C"]


def test_conflicts_are_marked():
    merged = merge(["a", "b"], ["x", "b"], ["y", "b"])
    assert merged.conflicts == 1
    assert merged.lines() == ["<<<<<<<", "x", "=======", "y", ">>>>>>>", "b"]


def test_versions_are_kept():
    history = History(["a"])
    assert history.commit(["a", "b"]) == 1
    assert history.version(0) == ["a"]
    assert history.blame() == [0, 1]
