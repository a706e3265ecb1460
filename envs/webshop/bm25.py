"""BM25 as Lucene 9 computes it, over postings in memory-mapped files that all processes of a machine share.

::

    score(d) = sum over terms t of w_t - w_t / (1 + f_td / (k1 (1 - b + b L_d / avgdl)))       k1 0.9, b 0.4
    w_t      = (how often the query has t) * ln(1 + (N - n_t + 0.5) / (n_t + 0.5))

f: how often the document has the term; L: its number of terms, rounded down to a length that Lucene keeps in one byte;
N: documents; n_t: documents with the term. Terms are scored in float32 and summed in float64, and the sum is rounded to
float32. Ties go to the smaller external id, as in Anserini. Terms are told by 64-bit keys: two of a million terms share
one with odds of 3e-8. In large indexes a search reads the postings of rare terms, and looks up the frequent ones only
for documents that can still be among the best (MaxScore); it returns what scoring every document would.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from cairn.core.keys import text_key
from cairn.envs.webshop.analyzer import stem, tokens

K1, B = np.float32(0.9), np.float32(0.4)
_FEW = 50_000  # postings that are all read
_SAMPLE = 300  # documents whose score is looked up in full to know what the best ones get
Docs = npt.NDArray[np.int32] | npt.NDArray[np.int64]
Scores = npt.NDArray[np.float64]
_LOOK_UP = 4  # looking one document up costs as much as reading this many
_SMALL_FILE = 1 << 18  # bytes
_ROUNDING = 1e-6  # share of a sum; more than it changes by being rounded to float32
_FILES = ("keys", "words", "places", "starts", "docs", "weights", "bounds", "ranks")


class Index:
    """One field of N documents."""

    def __init__(self, folder: Path) -> None:
        """Map the files that `build.write_index` wrote."""
        load = {name: mapped(folder / f"{name}.npy") for name in _FILES}
        self._keys: npt.NDArray[np.uint64] = load["keys"]  # [V] of terms, sorted
        self._words: npt.NDArray[np.uint64] = load["words"]  # [W] of tokens that the index knows, sorted
        self._places: npt.NDArray[np.int32] = load["places"]  # [W] the place of a token's term; -1: a stop word
        self._starts: npt.NDArray[np.int64] = load["starts"]  # [V + 1] where a term's postings begin
        self._docs: npt.NDArray[np.int32] = load["docs"]  # [P] ascending within a term
        self._weights: npt.NDArray[np.float32] = load["weights"]  # [P] f / (k1 (1 - b + b L / avgdl))
        self._bounds: npt.NDArray[np.float32] = load["bounds"]  # [V] a term's largest weight
        self._ranks: npt.NDArray[np.int32] = load["ranks"]  # [N] place of each document's external id among all
        self._zeros: list[Scores] = []  # [N] buffers of zeros that no search is using

    def __len__(self) -> int:
        return len(self._ranks)

    def search(self, query: str, k: int) -> list[tuple[int, float]]:
        """Return the best `k` documents that have a term of the query, with their scores, best first."""
        lists = self._lists(Counter(self._place(token) for token in tokens(query)))
        if not lists:
            return []
        candidates, score = self._all(lists) if sum(map(len, lists)) <= _FEW else self._best(lists, k)
        rounded = score.astype(np.float32)
        if len(candidates) > k:
            least = np.partition(rounded, len(rounded) - k)[len(rounded) - k]
            candidates, rounded = candidates[rounded >= least], rounded[rounded >= least]
        best = np.lexsort((self._ranks[candidates], -rounded))[:k]
        return list(zip(candidates[best].tolist(), rounded[best].tolist(), strict=True))

    def _place(self, token: str) -> int:
        """Return the place of a token's term; -1 where there is none. Only words that are not known are stemmed."""
        at = _find(self._words, token)
        if at >= 0:
            return int(self._places[at])
        term = stem(token)
        return -1 if term is None else _find(self._keys, term)

    def _lists(self, counts: Mapping[int, int]) -> list[_List]:
        """Return the postings of a query's terms, from rare to frequent."""
        found = []
        for place, count in counts.items():
            if place >= 0 and (size := int(self._starts[place + 1] - self._starts[place])):
                begin, weight = int(self._starts[place]), np.float32(count) * _idf(len(self), size)
                docs, weights = self._docs[begin : begin + size], self._weights[begin : begin + size]
                found.append(_List(docs, weights, weight, float(_scores(weight, self._bounds[place]))))
        return sorted(found, key=len)

    def _all(self, lists: list[_List]) -> tuple[Docs, Scores]:
        """Return every document that has a term, with its score."""
        docs = np.concatenate([each.docs for each in lists])
        weight = np.repeat(np.array([each.weight for each in lists]), [len(each) for each in lists])
        added = _scores(weight, np.concatenate([each.weights for each in lists]))
        total: Scores = np.bincount(docs, added, len(self)).astype(np.float64)
        candidates = np.flatnonzero(total)
        return candidates, total[candidates]

    def _best(self, lists: list[_List], k: int) -> tuple[Docs, Scores]:
        """Return documents among which the best `k` are, with their scores.

        A document that has none of the rare terms gets at most `rest` from the others. As soon as that is less than `k`
        documents are sure to get, only those documents seen so far that can still get as much need the others, and are
        looked up there once that is less work than reading on.
        """
        rest = np.cumsum([each.most for each in lists][::-1])[::-1]
        total = self._zeros.pop() if self._zeros else np.zeros(len(self))
        read, read_when_sure, least = 0, 0, -math.inf
        place = 0
        for place, each in enumerate(lists):
            if rest[place] < least:
                candidates = np.flatnonzero(total >= least - rest[place])
                if _LOOK_UP * len(candidates) < len(each):
                    break
            total[each.docs] += each.scores()
            read += len(each)
            if len(each) >= k and read >= 3 * read_when_sure:
                least = max(least, self._surely(each.docs, total, lists[place + 1 :], k))
                read_when_sure = read
        else:
            place, candidates = len(lists), np.flatnonzero(total)
        score = total[candidates]
        total.fill(0.0)
        self._zeros.append(total)
        return _add(candidates, score, lists[place:], least)

    def _surely(self, docs: Docs, total: Scores, others: list[_List], k: int) -> float:
        """Return a score that at least `k` documents reach: the k-th of the best of `docs`, when all is added."""
        score = total[docs]
        if len(docs) > _SAMPLE:
            top = np.argpartition(score, len(score) - _SAMPLE)[-_SAMPLE:]
            docs, score = docs[top], score[top]
        order = np.argsort(docs)
        docs, score = _add(docs[order], score[order], others)
        return float(np.partition(score, len(score) - k)[len(score) - k]) * (1 - _ROUNDING)


class _List:
    """A term's postings, and what it weighs in the query."""

    __slots__ = ("docs", "most", "weight", "weights")

    def __init__(self, docs: Docs, weights: npt.NDArray[np.float32], weight: np.float32, most: float) -> None:
        self.docs, self.weights, self.weight = docs, weights, weight
        self.most = most  # no document gets more from this term

    def __len__(self) -> int:
        return len(self.docs)

    def scores(self) -> npt.NDArray[np.float32]:
        added: npt.NDArray[np.float32] = _scores(self.weight, self.weights)
        return added


def _add(docs: Docs, score: Scores, lists: list[_List], least: float = -math.inf) -> tuple[Docs, Scores]:
    """Add the scores of further terms to `docs`, which are sorted; those that cannot reach `least` are left out."""
    rest = sum(each.most for each in lists)
    for each in lists:
        keep = score + rest >= least
        docs, score = docs[keep], score[keep]
        at = np.minimum(np.searchsorted(each.docs, docs), len(each) - 1)
        has = each.docs[at] == docs
        score[has] += _scores(each.weight, each.weights[at[has]])
        rest -= each.most
    return docs, score


def _scores(weight: Any, weights: Any) -> Any:  # Any: float32, one or many
    """Return what terms add to scores."""
    return weight - weight / (np.float32(1) + weights)


def mapped(path: Path) -> npt.NDArray[Any]:  # Any: the file says of what
    """Return an array that stays in its file; as a plain array, which is sliced ten times as fast as a `memmap`.

    A small one is read: a file that is mapped holds a descriptor, of which a process may have few.
    """
    return np.asarray(np.load(path, mmap_mode="r" if path.stat().st_size > _SMALL_FILE else None))


def _find(keys: npt.NDArray[np.uint64], text: str) -> int:
    """Return the place of a text's key among sorted keys; -1 where it is not."""
    key = np.uint64(text_key(text))
    at = int(np.searchsorted(keys, key))
    return at if at < len(keys) and keys[at] == key else -1


def _idf(num_docs: int, num_with: int) -> np.float32:
    return np.float32(math.log(1 + (num_docs - num_with + 0.5) / (num_with + 0.5)))


def kept_length(length: int) -> int:
    """Return the length that Lucene's one-byte norm stands for: exact to 39, then four significant bits."""
    value = length - 24
    if value < 16:
        return length
    shift = value.bit_length() - 4
    return 24 + (value >> shift << shift)
