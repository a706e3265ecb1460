"""Writes a search index with bounded memory.

Postings are gathered in runs of bounded size, written to disk, then laid out term by term. Memory is bounded by one
run, the vocabulary and eight bytes per document.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path

import numpy as np
import numpy.typing as npt
from numpy.lib.format import open_memmap

from cairn.core.keys import text_key
from cairn.envs.webshop.analyzer import stem, tokens
from cairn.envs.webshop.bm25 import K1, B, kept_length

RUN = 1 << 22  # tokens of one run
_STOP = -1


class IndexWriter:
    """Collects documents one at a time; `finish` writes the index."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self._folder = folder
        self._number: dict[str, int] = {}  # token -> term number, _STOP for a stop word
        self._term: dict[str, int] = {}  # term -> number
        self._runs: list[Path] = []
        self._pending: list[int] = []  # term numbers of the run, document after document
        self._ends: list[int] = []  # end of each document in the run
        self._lengths: list[int] = []
        self._first = 0  # first document of the run

    def add(self, text: str) -> None:
        """Add the next document."""
        before = len(self._pending)
        number = self._number
        for token in tokens(text):
            if (term := number.get(token)) is None:
                term = self._new(token)
            if term >= 0:
                self._pending.append(term)
        self._ends.append(len(self._pending))
        self._lengths.append(len(self._pending) - before)
        if len(self._pending) >= RUN:
            self._spill()

    def know(self, text: str) -> None:
        """Store the stems of a text's words without adding a document.

        Searching these words then does not load the stemmer.
        """
        for token in tokens(text):
            if token not in self._number:
                self._new(token)

    def finish(self, ranks: npt.NDArray[np.int32]) -> None:
        """Write the files of `bm25.Index`; `ranks` are the ranks of the documents' external ids."""
        self._spill()
        counts = np.zeros(len(self._term), np.int64)
        for run in self._runs:
            counts += np.bincount(np.load(run)["terms"], minlength=len(counts))
        keys = np.array([text_key(term) for term in self._term], np.uint64)
        by_key = np.argsort(keys)
        place = np.empty(len(keys), np.int64)
        place[by_key] = np.arange(len(keys))
        starts = np.concatenate([[0], np.cumsum(counts[by_key])])
        norms = self._norms()
        docs = open_memmap(self._folder / "docs.npy", mode="w+", dtype=np.int32, shape=(int(starts[-1]),))
        weights = open_memmap(self._folder / "weights.npy", mode="w+", dtype=np.float32, shape=(int(starts[-1]),))
        bounds = np.zeros(len(keys), np.float32)
        cursor = starts[:-1].copy()
        for run in self._runs:
            _lay_out(run, place, cursor, norms, docs, weights, bounds)
            run.unlink()
        docs.flush()
        weights.flush()
        words = np.array([text_key(token) for token in self._number], np.uint64)
        numbers = np.array(list(self._number.values()), np.int64)
        by_word = np.argsort(words)
        arrays = {
            "keys": keys[by_key], "starts": starts, "bounds": bounds, "ranks": ranks, "words": words[by_word],
            "places": np.append(place, _STOP)[numbers[by_word]].astype(np.int32),
        }  # fmt: skip
        for name, array in arrays.items():
            np.save(self._folder / f"{name}.npy", array)

    def _new(self, token: str) -> int:
        term = stem(token)
        number = _STOP if term is None else self._term.setdefault(term, len(self._term))
        self._number[token] = number
        return number

    def _spill(self) -> None:
        """Count the run's terms per document and write them to disk, by term and document."""
        size = np.diff(np.concatenate([[0], self._ends])).astype(np.int64)
        docs = np.repeat(np.arange(self._first, self._first + len(size)), size)
        pairs, frequency = np.unique(
            np.array(self._pending, np.int64) << 32 | docs.astype(np.int64), return_counts=True
        )
        path = self._folder / f"run-{len(self._runs)}.npz"
        np.savez(
            path,
            terms=(pairs >> 32).astype(np.int32),
            docs=pairs.astype(np.uint32).astype(np.int32),
            count=frequency.astype(np.int32),
        )
        self._runs.append(path)
        self._first += len(size)
        self._pending, self._ends = [], []

    def _norms(self) -> npt.NDArray[np.float32]:
        """Return 1 / (k1 (1 - b + b L / avgdl)) of each document, in float32 throughout."""
        lengths = np.array(self._lengths, np.int64)
        one = np.float32(1)
        mean = np.float32(lengths.sum() / max(len(lengths), 1)) or one  # if no document has a term, no norm is used
        kept, which = np.unique([kept_length(int(x)) for x in lengths], return_inverse=True)
        return (one / (K1 * ((one - B) + B * kept.astype(np.float32) / mean)))[which].astype(np.float32)


def _lay_out(
    run: Path,
    place: npt.NDArray[np.int64],
    cursor: npt.NDArray[np.int64],
    norms: npt.NDArray[np.float32],
    docs: npt.NDArray[np.int32],
    weights: npt.NDArray[np.float32],
    bounds: npt.NDArray[np.float32],
) -> None:
    """Append a run's postings to each of its terms.

    Runs are in the order of documents, so each term's postings are too.
    """
    with np.load(run) as data:
        term, doc, count = place[data["terms"]], data["docs"], data["count"]
    if not len(term):
        return
    begins = np.flatnonzero(np.concatenate([[True], term[1:] != term[:-1]]))
    sizes = np.diff(np.concatenate([begins, [len(term)]]))
    at = np.repeat(cursor[term[begins]] - begins, sizes) + np.arange(len(term))
    weight = count.astype(np.float32) * norms[doc]
    docs[at], weights[at] = doc, weight
    cursor[term[begins]] += sizes
    bounds[term[begins]] = np.maximum(bounds[term[begins]], np.maximum.reduceat(weight, begins))


def write_index(folder: Path, texts: Iterable[str], ids: list[str], progress: Callable[[], None] | None = None) -> None:
    """Index documents with external ids; `progress` is called after each document."""
    writer = IndexWriter(folder)
    for text in texts:
        writer.add(text)
        if progress is not None:
            progress()
    writer.finish(id_ranks(ids))


def id_ranks(ids: list[str]) -> npt.NDArray[np.int32]:
    """Return the rank of each id in sorted order."""
    ranks = np.empty(len(ids), np.int32)
    ranks[np.argsort(np.array(ids, dtype=str), kind="stable")] = np.arange(len(ids))
    return ranks
