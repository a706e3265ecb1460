"""BM25 as in Lucene 9, over postings in memory-mapped files.

All processes of a machine share the files.

::

    score(d) = sum over terms t of w_t - w_t / (1 + f_td / (k1 (1 - b + b L_d / avgdl)))       k1 0.9, b 0.4
    w_t      = (count of t in the query) * ln(1 + (N - n_t + 0.5) / (n_t + 0.5))

f: count of the term in the document; L: the document's number of terms, rounded down to a length that Lucene stores in
one byte; N: number of documents; n_t: number of documents with the term. Terms are scored in float32 and summed in
float64, and the sum is rounded to float32. Ties go to the smaller external id, as in Anserini. Terms are identified by
64-bit keys: the probability that two of a million terms share a key is 3e-8. In large indexes a search reads the
postings of rare terms and looks up the frequent ones only for documents that can still be among the best (MaxScore). It
returns the same documents as scoring every document.
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
_FEW = 50_000  # up to this number of postings, all are read
_SAMPLE = 300  # number of documents that are scored in full to estimate the k-th best score
Docs = npt.NDArray[np.int32] | npt.NDArray[np.int64]
Scores = npt.NDArray[np.float64]
_LOOK_UP = 4  # looking up one document costs as much as reading this many postings
_SMALL_FILE = 1 << 18  # bytes
_ROUNDING = 1e-6  # relative bound on the change of a sum by rounding to float32
_FILES = ("keys", "words", "places", "starts", "docs", "weights", "bounds", "ranks")


class Index:
    """One field of N documents."""

    def __init__(self, folder: Path) -> None:
        """Map the files that `build.write_index` wrote."""
        load = {name: mapped(folder / f"{name}.npy") for name in _FILES}
        self._keys: npt.NDArray[np.uint64] = load["keys"]  # [V] of terms, sorted
        self._words: npt.NDArray[np.uint64] = load["words"]  # [W] of known tokens, sorted
        self._places: npt.NDArray[np.int32] = load["places"]  # [W] index of each token's term; -1: a stop word
        self._starts: npt.NDArray[np.int64] = load["starts"]  # [V + 1] offset of each term's first posting
        self._docs: npt.NDArray[np.int32] = load["docs"]  # [P] ascending within a term
        self._weights: npt.NDArray[np.float32] = load["weights"]  # [P] f / (k1 (1 - b + b L / avgdl))
        self._bounds: npt.NDArray[np.float32] = load["bounds"]  # [V] a term's largest weight
        self._ranks: npt.NDArray[np.int32] = load["ranks"]  # [N] rank of each document's external id
        self._zeros: list[Scores] = []  # [N] unused buffers of zeros

    def __len__(self) -> int:
        return len(self._ranks)

    def search(self, query: str, k: int) -> list[tuple[int, float]]:
        """Return the best `k` documents with a term of the query, and their scores, best first."""
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
        """Return the index of a token's term; -1 if the index has no such term.

        Only unknown tokens are stemmed.
        """
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
        """Return every document with at least one term, and its score."""
        docs = np.concatenate([each.docs for each in lists])
        weight = np.repeat(np.array([each.weight for each in lists]), [len(each) for each in lists])
        added = _scores(weight, np.concatenate([each.weights for each in lists]))
        total: Scores = np.bincount(docs, added, len(self)).astype(np.float64)
        candidates = np.flatnonzero(total)
        return candidates, total[candidates]

    def _best(self, lists: list[_List], k: int) -> tuple[Docs, Scores]:
        """Return documents that include the best `k`, with their scores.

        A document without any of the rare terms gets at most `rest` from the others. Once `rest` is less than a score
        that `k` documents are sure to reach, only those documents seen so far that can still reach that score need the
        other terms. They are looked up once that is less work than reading the remaining postings.
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
        """Return a score that at least `k` documents reach.

        It is the k-th best full score among `docs`, of which at most `_SAMPLE` are scored.
        """
        score = total[docs]
        if len(docs) > _SAMPLE:
            top = np.argpartition(score, len(score) - _SAMPLE)[-_SAMPLE:]
            docs, score = docs[top], score[top]
        order = np.argsort(docs)
        docs, score = _add(docs[order], score[order], others)
        return float(np.partition(score, len(score) - k)[len(score) - k]) * (1 - _ROUNDING)


class _List:
    """A term's postings and its weight in the query."""

    __slots__ = ("docs", "most", "weight", "weights")

    def __init__(self, docs: Docs, weights: npt.NDArray[np.float32], weight: np.float32, most: float) -> None:
        self.docs, self.weights, self.weight = docs, weights, weight
        self.most = most  # upper bound on this term's score in any document

    def __len__(self) -> int:
        return len(self.docs)

    def scores(self) -> npt.NDArray[np.float32]:
        added: npt.NDArray[np.float32] = _scores(self.weight, self.weights)
        return added


def _add(docs: Docs, score: Scores, lists: list[_List], least: float = -math.inf) -> tuple[Docs, Scores]:
    """Add the scores of further terms to `docs`, which are sorted.

    Drops documents that cannot reach `least`.
    """
    rest = sum(each.most for each in lists)
    for each in lists:
        keep = score + rest >= least
        docs, score = docs[keep], score[keep]
        at = np.minimum(np.searchsorted(each.docs, docs), len(each) - 1)
        has = each.docs[at] == docs
        score[has] += _scores(each.weight, each.weights[at[has]])
        rest -= each.most
    return docs, score


def _scores(weight: Any, weights: Any) -> Any:  # Any: float32, scalar or array
    """Return the contributions of terms to scores."""
    return weight - weight / (np.float32(1) + weights)


def mapped(path: Path) -> npt.NDArray[Any]:  # Any: the dtype depends on the file
    """Return a file-backed array.

    It is a plain array, which is sliced ten times as fast as a `memmap`. A small file is read instead, since each
    mapped file holds a descriptor and a process may have few.
    """
    return np.asarray(np.load(path, mmap_mode="r" if path.stat().st_size > _SMALL_FILE else None))


def _find(keys: npt.NDArray[np.uint64], text: str) -> int:
    """Return the index of a text's key among sorted keys; -1 if it is missing."""
    key = np.uint64(text_key(text))
    at = int(np.searchsorted(keys, key))
    return at if at < len(keys) and keys[at] == key else -1


def _idf(num_docs: int, num_with: int) -> np.float32:
    return np.float32(math.log(1 + (num_docs - num_with + 0.5) / (num_with + 0.5)))


def kept_length(length: int) -> int:
    """Return the length that Lucene's one-byte norm encodes.

    It is exact up to 39 and has four significant bits above.
    """
    value = length - 24
    if value < 16:
        return length
    shift = value.bit_length() - 4
    return 24 + (value >> shift << shift)
