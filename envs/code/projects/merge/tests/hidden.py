"""What linemerge should do: the tests that judge a repair."""

from linemerge.diff import apply, diff, inverse
from linemerge.errors import PatchFault
from linemerge.history import History
from linemerge.match import matches
from linemerge.show import summary, unified
from linemerge.three import merge


def listed(text):
    return list(text)


def merged(base, ours, theirs):
    result = merge(listed(base), listed(ours), listed(theirs))
    return "".join(result.resolve("both")), result.conflicts


def test_as_many_lines_as_possible_are_common():
    assert matches(listed("abcbdab"), listed("bdcaba")) == [(1, 0), (4, 1), (5, 3), (6, 4)]
    assert matches(listed("xaxbx"), listed("ab")) == [(1, 0), (3, 1)]
    assert matches([], listed("ab")) == []
    assert matches(listed("ab"), listed("ab")) == [(0, 0), (1, 1)]


def test_of_equal_ways_an_old_line_is_skipped_first():
    assert matches(listed("ab"), listed("ba")) == [(1, 0)]
    assert diff(listed("ab"), listed("ba")) == [(0, 1, []), (2, 2, ["a"])]


def test_changes_at_the_ends():
    assert diff(listed("bc"), listed("abcd")) == [(0, 0, ["a"]), (2, 2, ["d"])]
    assert diff(listed("abcd"), listed("bc")) == [(0, 1, []), (3, 4, [])]
    assert diff([], ["x"]) == [(0, 0, ["x"])]
    assert diff(["x"], []) == [(0, 1, [])]
    assert diff(listed("abcdef"), listed("axyef")) == [(1, 4, ["x", "y"])]
    assert diff(listed("same"), listed("same")) == []


def test_applying_what_touches():
    assert apply(listed("abcd"), [(0, 1, ["x"]), (1, 1, ["y"]), (1, 3, [])]) == ["x", "y", "d"]
    assert apply(listed("ab"), [(2, 2, ["c"])]) == ["a", "b", "c"]
    assert apply(listed("ab"), []) == ["a", "b"]


def test_changes_that_do_not_fit():
    for changes in ([(1, 3, []), (2, 4, [])], [(2, 3, []), (0, 1, [])], [(3, 5, [])], [(2, 1, [])], [(-1, 0, [])]):
        try:
            apply(listed("abcd"), changes)
        except PatchFault:
            pass
        else:
            raise AssertionError(changes)


def test_changes_can_be_undone():
    old, new = listed("abcdefg"), listed("xbcyyyfghh")
    changes = diff(old, new)
    assert inverse(old, changes) == [(0, 1, ["a"]), (3, 6, ["d", "e"]), (8, 10, [])]
    assert apply(new, inverse(old, changes)) == old


def test_hunks_that_touch_are_one():
    old, new = listed("abcdefg"), listed("aXcdeYg")
    assert unified(old, new, 1) == ["@@ 1,3 1,3 @@", " a", "-b", "+X", " c", "@@ 5,3 5,3 @@", " e", "-f", "+Y", " g"]
    joined = ["@@ 1,5 1,5 @@", " a", "-b", "+X", " c", " d", "-e", "+Y"]
    assert unified(listed("abcde"), listed("aXcdY"), 1) == joined
    assert len(unified(old, new, 2)) == 1 + 7 + 2


def test_hunks_have_numbers_of_lines():
    old, new = listed("abcdefgh"), listed("pqabcdegh")
    assert unified(old, new, 0) == ["@@ 0,0 1,2 @@", "+p", "+q", "@@ 6,1 7,0 @@", "-f"]
    assert unified(old, new, 1) == ["@@ 1,1 1,3 @@", "+p", "+q", " a", "@@ 5,3 7,2 @@", " e", "-f", " g"]
    assert unified(old, old) == []


def test_summaries():
    assert summary(listed("abc"), listed("abc")) == "no changes"
    assert summary(listed("abc"), listed("c")) == "0 added, 2 removed"
    assert summary([], listed("xyz")) == "3 added, 0 removed"


def test_one_side_is_enough():
    assert merged("abc", "abc", "aXc") == ("aXc", 0)
    assert merged("abc", "ac", "abc") == ("ac", 0)
    assert merged("abc", "abc", "abc") == ("abc", 0)


def test_equal_changes_are_taken_once():
    assert merged("abc", "aXc", "aXc") == ("aXc", 0)
    assert merged("ab", "aXb", "aXb") == ("aXb", 0)
    assert merged("abcd", "ad", "ad") == ("ad", 0)


def test_changes_that_touch_do_not_conflict():
    assert merged("abcd", "Xbcd", "aYcd") == ("XYcd", 0)
    assert merged("abcd", "aXXd", "abcdZ") == ("aXXdZ", 0)
    assert merged("abc", "Xbc", "aIbc") == ("XIbc", 0)


def test_insertions_at_one_place_conflict():
    assert merged("ab", "aXb", "aYb") == ("aXYb", 1)
    assert merged("abc", "aIbc", "aXc") == ("aIbXc", 1)


def test_changes_that_overlap_conflict():
    result = merge(listed("abcdef"), listed("aXYdef"), listed("abPQef"))
    assert result.lines() == [*"a", "<<<<<<<", "X", "Y", "d", "=======", "b", "P", "Q", ">>>>>>>", *"ef"]
    assert result.conflicts == 1
    assert not result.is_clean


def test_conflicts_that_hang_together_are_one():
    result = merge(listed("abcdefgh"), listed("ABcDEfgh"), listed("aXXXefGh"))
    assert result.conflicts == 1
    assert result.resolve("ours") == listed("ABcDEfGh")
    assert result.resolve("theirs") == listed("aXXXefGh")


def test_conflicts_are_decided_all_alike():
    result = merge(listed("abcde"), listed("1bc2e"), listed("3bc4eZ"))
    assert result.conflicts == 2
    assert result.resolve("ours") == listed("1bc2eZ")
    assert result.resolve("theirs") == listed("3bc4eZ")
    assert result.resolve("both") == listed("13bc24eZ")
    try:
        result.resolve("mine")
    except ValueError:
        pass
    else:
        raise AssertionError("no such side")


def test_every_version_comes_back():
    versions = ["abc", "axc", "axcd", "d", "dde", ""]
    history = History(listed("abc"))
    assert [history.commit(listed(text)) for text in versions[1:]] == [1, 2, 3, 4, 5]
    assert ["".join(history.version(number)) for number in range(6)] == versions
    assert history.commit([]) == 5


def test_versions_that_are_not_there():
    history = History(["a"])
    assert history.commit(["a"]) == 0
    for number in (1, -1):
        try:
            history.version(number)
        except IndexError:
            pass
        else:
            raise AssertionError(number)
    assert history.version(0) == ["a"]


def test_lines_know_their_version():
    history = History(listed("abc"))
    history.commit(listed("axbc"))
    history.commit(listed("axyc"))
    history.commit(listed("xyzc"))
    assert history.blame() == [1, 2, 3, 0]
