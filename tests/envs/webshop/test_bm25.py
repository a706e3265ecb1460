"""The index against scores by hand, against scoring everything, and against Lucene's own lists."""

from __future__ import annotations

import itertools
import math
import random
import tempfile
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cairn.core.keys import text_key
from cairn.envs.webshop import bm25, build
from cairn.envs.webshop.analyzer import terms
from cairn.envs.webshop.bm25 import Index, kept_length
from cairn.envs.webshop.build import write_index
from tests.envs.webshop import tiny

# Three documents of 2, 2 and 4 terms: avgdl 8/3. Weights f / (0.9 (0.6 + 0.4 L / avgdl)):
#   L = 2, f = 1: 1 / (0.9 * 0.9) = 1.234568      L = 4, f = 2: 2 / (0.9 * 1.2) = 1.851852      L = 4, f = 1: 0.925926
# A term's share is w x / (1 + x): x / (1 + x) = 0.552486, 0.649351 and 0.480769.
TEXTS = ["red lamp", "Red lamps", "the red, red chairs and a desk"]
IDS = ["B", "A", "C"]
IDF_1, IDF_2, IDF_3 = (
    math.log(1 + 2.5 / 1.5),
    math.log(1 + 1.5 / 2.5),
    math.log(1 + 0.5 / 3.5),
)  # of terms in n documents


def index_of(folder: Path, texts: list[str], ids: list[str] | None = None) -> Index:
    write_index(folder, texts, ids or [f"{number:06d}" for number in range(len(texts))])
    return Index(folder)


@pytest.fixture
def small(tmp_path: Path) -> Index:
    return index_of(tmp_path, TEXTS, IDS)


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("lamp", [(1, IDF_2 * 0.552486), (0, IDF_2 * 0.552486)]),  # equal scores: A before B
        ("red", [(2, IDF_3 * 0.649351), (1, IDF_3 * 0.552486), (0, IDF_3 * 0.552486)]),
        ("RED red red's", [(2, IDF_3 * 3 * 0.649351), (1, IDF_3 * 3 * 0.552486), (0, IDF_3 * 3 * 0.552486)]),
        ("desk red", [(2, IDF_1 * 0.480769 + IDF_3 * 0.649351), (1, IDF_3 * 0.552486), (0, IDF_3 * 0.552486)]),
        ("sofa desk", [(2, IDF_1 * 0.480769)]),
        ("sofa", []),
        ("the and", []),
        ("of", []),  # a stop word that no document has
        ("", []),
    ],
)
def test_scores_are_those_worked_out_by_hand(small: Index, query: str, expected: list[tuple[int, float]]) -> None:
    found = small.search(query, 50)
    assert [document for document, _ in found] == [document for document, _ in expected]
    assert [score for _, score in found] == pytest.approx([score for _, score in expected], rel=2e-6)
    assert small.search(query, 1) == found[:1]
    assert len(small) == 3


def test_document_lengths_are_rounded_like_lucenes_byte() -> None:
    for length in itertools.chain(range(5000), (2**k + d for k in range(12, 31) for d in (-1, 0, 1))):
        assert kept_length(length) == _from_byte4(_to_byte4(length)), length
    assert [kept_length(length) for length in (39, 40, 41, 42, 56, 59, 60)] == [39, 40, 40, 42, 56, 56, 60]


def _to_byte4(number: int) -> int:
    """As SmallFloat.intToByte4 is defined: the first numbers are themselves, the others four bits and a shift."""
    free = 255 - _to_int4(2**31 - 1)
    return number if number < free else free + _to_int4(number - free)


def _to_int4(number: int) -> int:
    bits = number.bit_length()
    return number if bits < 4 else (number >> (bits - 4)) & 0x07 | (bits - 3) << 3


def _from_byte4(byte: int) -> int:
    free = 255 - _to_int4(2**31 - 1)
    if byte < free:
        return byte
    bits, shift = (byte - free) & 0x07, ((byte - free) >> 3) - 1
    return free + (bits if shift == -1 else (bits | 0x08) << shift)


def test_long_documents_are_scored_by_their_kept_length(tmp_path: Path) -> None:
    """Of 41 and of 40 terms: both count as 40, so they tie; of 39: more."""
    texts = [" ".join(["lamp", *(f"w{n}" for n in range(size - 1))]) for size in (41, 40, 39)]
    found = index_of(tmp_path, texts).search("lamp", 3)
    assert [document for document, _ in found] == [2, 0, 1]
    assert found[0][1] > found[1][1] == found[2][1]


def scored(texts: list[str], ids: list[str], query: str, k: int) -> list[tuple[int, float]]:
    """Return the expected result of `Index.search`, from the formula, document by document."""
    f32 = np.float32
    documents = [Counter(terms(text)) for text in texts]
    mean = f32(sum(document.total() for document in documents) / len(documents))
    found = []
    wanted = Counter(terms(query))
    count = {term: sum(term in document for document in documents) for term in wanted}
    for number, document in enumerate(documents):
        norm = f32(1) / (
            f32(0.9) * (f32(1) - f32(0.4) + f32(0.4) * f32(_from_byte4(_to_byte4(document.total()))) / mean)
        )
        total = 0.0
        for term, times in wanted.items():
            if term in document:
                w = f32(times) * f32(math.log(1 + (len(texts) - count[term] + 0.5) / (count[term] + 0.5)))
                total += float(w - w / (f32(1) + f32(document[term]) * norm))
        if wanted.keys() & document.keys():
            found.append((number, float(f32(total))))
    return sorted(found, key=lambda pair: (-pair[1], ids[pair[0]]))[:k]


_WORDS = st.sampled_from(["red"] * 6 + ["lamp"] * 4 + ["desk", "desks", "rug", "mug", "x1", "the", "\u2605"])


@given(
    texts=st.lists(st.lists(_WORDS, max_size=8).map(" ".join), min_size=1, max_size=12).filter(
        lambda t: any(map(terms, t))
    ),
    query=st.lists(_WORDS, max_size=6).map(" ".join),
    k=st.integers(1, 14),
    data=st.data(),
)
@settings(max_examples=60, deadline=None)
def test_a_search_equals_scoring_all_documents(texts: list[str], query: str, k: int, data: st.DataObject) -> None:
    ids = [f"{number:02d}" for number in data.draw(st.permutations(range(len(texts))))]
    with tempfile.TemporaryDirectory() as folder:
        assert index_of(Path(folder), texts, ids).search(query, k) == scored(texts, ids, query, k)


@pytest.mark.rotating(3)
def test_frequent_terms_are_looked_up_for_few_documents_with_the_same_result(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rng = random.Random(0)
    words = [f"w{n}" for n in range(60)]
    weights = [1 / (n + 1) for n in range(60)]
    texts = [" ".join(rng.choices(words, weights, k=rng.randrange(3, 60))) for _ in range(400)]
    ids = [f"{number:03d}" for number in rng.sample(range(400), 400)]
    index = index_of(tmp_path, texts, ids)
    looked_up: list[int] = []  # numbers of documents
    add = bm25._add

    def counting(docs: Any, score: Any, lists: Any, least: float = -math.inf) -> Any:  # Any: as `add` has them
        if least > -math.inf:
            looked_up.append(len(docs))
        return add(docs, score, lists, least)

    for name, value in (("_add", counting), ("_FEW", 0), ("_SAMPLE", 20), ("_LOOK_UP", 0)):
        monkeypatch.setattr(bm25, name, value)
    for _ in range(100):
        query = " ".join([*rng.choices(words, weights, k=4), *rng.choices(words, k=2)])
        k = rng.choice([1, 3, 10])
        assert index.search(query, k) == scored(texts, ids, query, k)
    assert len(looked_up) > 30
    assert min(looked_up) < 20


def test_documents_whose_sums_are_equal_once_rounded_tie(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The second's two scores make a hair less than the first's one; in float32 as much; its id comes first."""
    for name in ("_FEW", "_LOOK_UP"):
        monkeypatch.setattr(bm25, name, 0)
    weights = _tie()
    keys = np.array([text_key(word) for word in ("aa", "bb", "cc")], np.uint64)
    order = np.argsort(keys)
    arrays: dict[str, npt.NDArray[Any]] = {  # Any: of several types
        "keys": keys[order], "words": keys[order], "places": np.arange(3, dtype=np.int32), "starts": np.arange(4),
        "docs": np.array([0, 1, 1], np.int32)[order], "weights": weights[order], "bounds": weights[order],
        "ranks": np.array([1, 0], np.int32),
    }  # fmt: skip
    for name, array in arrays.items():
        np.save(tmp_path / f"{name}.npy", array)
    found = Index(tmp_path).search("aa bb cc", 2)
    assert [document for document, _ in found] == [1, 0]
    assert found[0][1] == found[1][1]
    assert Index(tmp_path).search("aa bb cc", 1) == found[:1]


def _tie() -> npt.NDArray[np.float32]:
    """Return weights of three terms of one document each; the last two's scores together make the first's."""
    w = np.float32(math.log(1 + 1.5 / 1.5))  # of a term in one of two documents
    rng = np.random.default_rng(0)
    while True:
        x = rng.random(2).astype(np.float32)
        shares = w - w / (np.float32(1) + x)
        total = float(shares[0]) + float(shares[1])
        rounded = np.float32(total)
        first = np.float32(rounded / (w - rounded))
        if total < float(rounded) and rounded == w - w / (np.float32(1) + first):
            return np.array([first, *x], np.float32)


def test_an_index_written_in_many_parts_is_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = random.Random(1)
    texts = [" ".join(rng.choices(["red", "lamp", "desk", "the", f"n{n}"], k=rng.randrange(6))) for n in range(40)]
    index_of(tmp_path / "one", texts)
    spilled: list[None] = []
    spill = build.IndexWriter._spill
    monkeypatch.setattr(build.IndexWriter, "_spill", lambda self: spilled.append(spill(self)))
    monkeypatch.setattr(build, "RUN", 5)
    index_of(tmp_path / "many", texts)
    assert len(spilled) > 10
    one, many = ({file.name: file.read_bytes() for file in (tmp_path / name).iterdir()} for name in ("one", "many"))
    assert one == many
    assert sorted(one) == sorted(f"{name}.npy" for name in bm25._FILES)


@pytest.mark.filterwarnings("error")
def test_documents_without_a_term_are_never_found(tmp_path: Path) -> None:
    assert index_of(tmp_path / "some", ["", "the", "red"]).search("red", 5)[0][0] == 2
    assert index_of(tmp_path / "none", ["", "the"]).search("red the", 5) == []


def test_progress_is_reported_after_every_document(tmp_path: Path) -> None:
    calls: list[None] = []
    write_index(tmp_path, TEXTS, IDS, lambda: calls.append(None))
    assert len(calls) == 3


def test_lucenes_own_lists_of_400_queries_are_reproduced(tmp_path: Path) -> None:
    documents = tiny.rows("lucene_docs_1k.jsonl.gz")
    ids = [document["id"] for document in documents]
    index = index_of(tmp_path, [document["contents"] for document in documents], ids)
    queries = tiny.rows("ref_bm25_queries_top50.jsonl.gz")
    assert len(queries) == 400
    for row in queries:
        found = index.search(row["q"], 50)
        assert [ids[document] for document, _ in found] == [asin for asin, _ in row["hits"]], row["q"]
        # The reference's scores are rounded, and those of ties are lessened by 1e-6 each.
        assert [score for _, score in found] == pytest.approx([score for _, score in row["hits"]], abs=2e-4), row["q"]
