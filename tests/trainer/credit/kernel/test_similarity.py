"""Similarity keys equal those of the plain greedy clustering, pair by pair, for every kind of skipped comparison."""

from __future__ import annotations

import difflib
import random
from collections.abc import Callable, Sequence

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rapidfuzz.distance import Indel

from cairn.core.errors import CairnError
from cairn.core.keys import text_key
from cairn.trainer.credit.kernel import similarity
from cairn.trainer.credit.kernel.similarity import BLOCK, similar

THINGS = ("apple", "bread", "knife", "fork", "plate", "kettle", "lamp", "book", "pencil", "phone", "pillow", "candle")
PLACES = ("drawer", "cabinet", "countertop", "shelf", "desk", "fridge", "microwave", "armchair", "dresser", "safe")

Ratio = Callable[[str, str], float]


def lcs_ratio(a: str, b: str) -> float:
    """``2 LCS / (len a + len b)`` by the textbook table."""
    row = [0] * (len(b) + 1)
    for x in a:
        before = row
        row = [0]
        for j, y in enumerate(b):
            row.append(before[j] + 1 if x == y else max(before[j + 1], row[j]))
    return 2 * row[-1] / (len(a) + len(b)) if a or b else 1.0


def indel_ratio(a: str, b: str) -> float:
    total = len(a) + len(b)
    return (total - Indel.distance(a, b)) / total if total else 1.0


def plain(texts: Sequence[str], groups: Sequence[int], threshold: float, ratio: Ratio = indel_ratio) -> list[int]:
    """The definition: compare each text with each representative of its group, in order."""
    leaders: dict[int, list[str]] = {}
    out = []
    for text, group in zip(texts, groups, strict=True):
        of = leaders.setdefault(group, [])
        leader = next((leader for leader in of if ratio(text, leader) >= threshold), None)
        if leader is None:
            of.append(leader := text)
        out.append(text_key(leader))
    return out


def found(texts: Sequence[str], threshold: float = 0.95) -> list[int]:
    keys: list[int] = similar(texts, [0] * len(texts), threshold).tolist()
    return keys


def observations(count: int, seed: int, num_items: int = 30, most_moves: int = 3) -> list[str]:
    """Return texts that list where things lie in a house; of each, a few were moved since the one before."""
    rng = random.Random(seed)

    def place() -> str:
        return f"{rng.choice(PLACES)} {rng.randint(1, 6)}"

    items = [[f"{rng.choice(THINGS)} {rng.randint(1, 4)}", place()] for _ in range(num_items)]
    out = []
    for _ in range(count):
        for _ in range(rng.randint(0, most_moves)):
            rng.choice(items)[1] = place()
        out.append("You look around. " + " ".join(f"{thing} in {at}." for thing, at in items))
    return out


# Every character is frequent, but one early and one in the middle that difflib can hold on to.
TEXT = ("Q " + "the apple is in the drawer and the bowl is on the shelf, so " * 14)[:599] + "Z"
TEXT = (TEXT + "the apple is in the drawer and the bowl is on the shelf, so " * 4)[:837]
CHANGED = [TEXT[:at] + "#" + TEXT[at + 1 :] for at in (837 * share // 100 for share in (5, 50, 95))]


def test_where_a_text_differs_does_not_matter() -> None:
    # One of 837 characters differs: 2 * 836 / (837 + 837) = 0.998805, at 5 %, 50 % and 95 % of the text.
    assert len(TEXT) == 837
    for changed in CHANGED:
        assert round(lcs_ratio(TEXT, changed), 6) == 0.998805
    assert found([TEXT, *CHANGED]) == [text_key(TEXT)] * 4


def test_difflib_falls_into_the_trap_that_this_avoids() -> None:
    # Nothing rare stands behind the change at 95 %: the rest is not matched at all, 2 * 795 / 1674 = 0.949821.
    ratios = [difflib.SequenceMatcher(None, changed, TEXT).ratio() for changed in CHANGED]
    assert [round(ratio, 6) for ratio in ratios] == [0.998805, 0.998805, 0.949821]


def test_the_threshold_is_reached_at_equality() -> None:
    # 2 * 19 / 40 = 0.95; of 39 characters 2 * 19 / 39 = 0.974; of 38 with one changed 2 * 18 / 38 = 0.947
    assert found(["x" * 20, "x" * 19 + "y"]) == [text_key("x" * 20)] * 2
    assert found(["x" * 20, "x" * 19 + "y"], np.nextafter(0.95, 1)) == [text_key("x" * 20), text_key("x" * 19 + "y")]
    assert found(["x" * 19, "x" * 20]) == [text_key("x" * 19)] * 2
    assert found(["x" * 19, "x" * 18 + "y"]) == [text_key("x" * 19), text_key("x" * 18 + "y")]


@pytest.mark.parametrize("total", range(2, 120))
def test_every_ratio_of_two_numbers_is_reached_as_a_decimal(total: int) -> None:
    # n of m characters, one after the other: ratio 2 n / (n + m), also where 1 - d / (n + m) would round below it
    for n in range(1, total // 2 + 1):
        m = total - n
        ratio = 2 * n / total
        assert len(set(found(["x" * m, "x" * n], ratio))) == 1
        if n < m:
            assert len(set(found(["x" * m, "x" * n], float(np.nextafter(ratio, 2))))) == 2


def test_a_text_joins_the_first_cluster_that_will_have_it_not_the_nearest() -> None:
    # common subsequences of 8 characters: abb 3, aaaabb 6, abbbb 5
    near, far, text = "aaaabbcc", "dabbbbbb", "aaaabbbb"
    assert [lcs_ratio(near, far), lcs_ratio(near, text), lcs_ratio(far, text)] == [0.375, 0.75, 0.625]
    assert found([near, far, text], 0.6) == [text_key(near), text_key(far), text_key(near)]
    assert found([far, near, text], 0.6) == [text_key(far), text_key(near), text_key(far)]
    assert found([far, near, text], 0.7) == [text_key(far), text_key(near), text_key(near)]


def test_the_order_of_rows_decides() -> None:
    # common subsequences of 4 characters: aab 3, aac 3, aa 2
    a, b, c = "aabb", "aabc", "aacc"
    assert [lcs_ratio(a, b), lcs_ratio(b, c), lcs_ratio(a, c)] == [0.75, 0.75, 0.5]
    assert found([a, b, c], 0.7) == [text_key(a), text_key(a), text_key(c)]
    assert found([b, a, c], 0.7) == [text_key(b)] * 3


def test_letters_in_another_order_are_another_text() -> None:
    assert len(set(found(["abcdefghij", "jihgfedcba"], 0.5))) == 2  # equal counts, LCS 1
    assert len(set(found(["abcdefghij", "bacdefghij"], 0.9))) == 1  # LCS 9


def test_groups_do_not_mix() -> None:
    texts = ["the same text", "the same text!", "the same text!", "the same text"]
    assert similar(texts, [0, 1, 0, 1], 0.9).tolist() == [text_key(texts[i]) for i in (0, 1, 0, 1)]


@pytest.mark.parametrize("groups", [[1 << 63, 5, 5], np.array([-3, 7, 7]), [[9], [8], [8]], ("b", "a", "a")])
def test_any_ids_are_groups(groups: list[int]) -> None:
    assert similar(["one", "one more", "one more!"], groups, 0.8).tolist() == [
        text_key("one"), text_key("one more"), text_key("one more")
    ]  # fmt: skip


def test_large_ids_with_equal_float_values_are_two_groups() -> None:
    assert len(set(similar(["text 1", "text 2"], [(1 << 63) + 1, (1 << 63) + 2], 0.5).tolist())) == 2
    assert len(set(similar(["text 1", "text 2", "x"], [(1 << 63) + 1, (1 << 63) + 2, -1], 0.5).tolist())) == 3


@pytest.mark.parametrize("threshold", [0.0, -0.1, 1.0001, float("nan"), float("inf")])
def test_a_threshold_out_of_range_is_refused(threshold: float) -> None:
    with pytest.raises(CairnError, match="expected a threshold above 0 and at most 1, got "):
        similar(["a"], [0], threshold)


def test_a_text_without_a_group_is_refused() -> None:
    with pytest.raises(CairnError, match="got 2 texts and 1 groups"):
        similar(["a", "b"], [0])


def test_a_threshold_of_one_takes_equal_texts_only() -> None:
    assert found(["ab", "ba", "ab", "abc", "ab\u0301"], 1.0) == [
        text_key(x) for x in ("ab", "ba", "ab", "abc", "ab\u0301")
    ]


def test_the_least_threshold_asks_for_one_character_in_common() -> None:
    assert found(["abc", "xyz", "xbz", ""], 5e-324) == [text_key(x) for x in ("abc", "xyz", "abc", "")]


def test_no_rows_give_no_keys() -> None:
    keys = similar([], [])
    assert keys.dtype == np.uint64
    assert keys.shape == (0,)


def test_empty_texts_are_like_each_other_only() -> None:
    assert found(["", "a", "", "a"], 0.01) == [text_key(""), text_key("a"), text_key(""), text_key("a")]


def test_lone_surrogates_are_characters() -> None:
    one, two = "state \ud800 of things", "state \udfff of things"  # 2 * 16 / 34 = 0.941
    assert found([one, two], 0.94) == [text_key(one)] * 2
    assert found([one, two]) == [text_key(one), text_key(two)]


def test_characters_beyond_the_counters_range_are_still_compared() -> None:
    # 2 * 40000 / 100000 = 0.8
    texts = ["a" * 40_000, "a" * 60_000]
    assert found(texts, 0.8) == [text_key(texts[0])] * 2
    assert found(texts, 0.81) == [text_key(text) for text in texts]


alike = st.text("abg \u00df\ud800", max_size=10)  # a and U+00DF are counted in one bin; a and g are in one part
thresholds = st.one_of(st.sampled_from([0.5, 0.6, 2 / 3, 0.75, 0.8, 0.9, 1.0]), st.floats(0.01, 1.0))


def test_a_and_sharp_s_are_counted_together() -> None:
    assert ord("a") % (similarity.PARTS * similarity.BINS) == ord("\u00df") % (similarity.PARTS * similarity.BINS)
    assert ord("a") % similarity.PARTS == ord("g") % similarity.PARTS
    assert found(["aaab", "\u00df\u00df\u00dfb"], 0.5) == [text_key("aaab"), text_key("\u00df\u00df\u00dfb")]


@settings(max_examples=400, deadline=None)
@given(rows=st.lists(st.tuples(alike, st.integers(0, 1)), max_size=14), threshold=thresholds)
def test_short_texts_cluster_by_the_definition(rows: list[tuple[str, int]], threshold: float) -> None:
    texts, groups = [text for text, _ in rows], [group for _, group in rows]
    assert similar(texts, groups, threshold).tolist() == plain(texts, groups, threshold, lcs_ratio)


@settings(max_examples=40, deadline=None)
@given(
    seed=st.integers(0, 1 << 32),
    num_items=st.integers(1, 60),
    moves=st.integers(1, 30),
    threshold=st.floats(0.5, 1.0),
)
def test_observations_cluster_by_the_definition(seed: int, num_items: int, moves: int, threshold: float) -> None:
    texts = observations(40, seed, num_items, moves)
    groups = [i % 3 // 2 for i in range(40)]
    assert similar(texts, groups, threshold).tolist() == plain(texts, groups, threshold)


def test_more_clusters_than_a_block_holds_are_all_looked_at() -> None:
    rng = random.Random(3)
    first = ["".join(rng.choices("abcdefghijklmnopqrstuvwxyz ", k=40)) for _ in range(2 * BLOCK + 50)]
    again = [text[:at] + "#" + text[at + 1 :] for text, at in ((text, rng.randrange(40)) for text in first)]
    rng.shuffle(again)
    keys = found(first + again, 0.9)
    assert keys == plain(first + again, [0] * len(first + again), 0.9)
    assert len(set(keys)) == len(first)


class Counting:
    """Counts comparisons of whole texts, which begin with words that their parts do not begin with."""

    def __init__(self) -> None:
        self.whole = 0

    def distance(self, a: str, b: str, *, score_cutoff: int) -> int:
        self.whole += a.startswith("You look around. ")
        return Indel.distance(a, b, score_cutoff=score_cutoff)


def test_few_pairs_are_compared_in_full(monkeypatch: pytest.MonkeyPatch) -> None:
    # Each text that joins a cluster has to be compared once; the definition compares it with every earlier cluster.
    texts = list(dict.fromkeys(observations(300, 5)))
    counting = Counting()
    monkeypatch.setattr(similarity, "Indel", counting)
    keys = found(texts)
    joined = len(texts) - len(set(keys))
    assert joined <= counting.whole <= 1.2 * joined
    pairs = sum(len(set(keys[:i])) for i in range(len(keys)))
    assert counting.whole < pairs / 20


def test_repeated_texts_are_not_compared_at_all(monkeypatch: pytest.MonkeyPatch) -> None:
    counting = Counting()
    texts = observations(3, 5, most_moves=30)
    monkeypatch.setattr(similarity, "Indel", counting)
    found(texts)
    once = counting.whole
    found(texts * 50)
    assert counting.whole == 2 * once
