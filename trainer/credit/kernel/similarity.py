"""State keys from texts: nearly equal observations share a key, by greedy clustering.

::

    ratio(a, b) = 2 LCS(a, b) / (len a + len b)        LCS: length of the longest common subsequence of characters

Rows are processed in the given order. Each joins the first cluster of its group whose representative, the first member,
has ``ratio >= threshold``; otherwise it starts a new one. Two empty texts have ratio 1. The result depends on the
order of rows: sort them by episode and turn, so that it does not depend on the order of collection. Clusters are not
transitive: two members may be less alike than the threshold.

The clustering is exact. With ``d = len a + len b - 2 LCS``, the number of insertions and deletions, a pair is rejected
early only if a lower bound of d exceeds the limit that follows from the threshold. The cheapest bound comes first::

    equal texts of a group             looked up, never compared
    d >= | len a - len b |             all representatives at once
    d >= sum_x | n_a(x) - n_b(x) |     counts of characters; all representatives at once
    d >= d(a1, b1) + d(a2, b2) + ...   texts split by sets of characters: each edit is in one of the parts

Cost: O(N) for repeated texts; of D distinct texts and K representatives at most D K bounds, and slightly more full
comparisons than matching pairs, each O(length^2 / 64).
Source: the similarity grouping of GiGPO (2505.10978) in langfengQ/verl-agent. Departure: that code measures with
`difflib.SequenceMatcher`, which drops frequent characters from texts of 200 or more, so that its ratio depends on the
position of the difference. Its matches are also not a longest common subsequence.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence

import numpy as np
import numpy.typing as npt
from rapidfuzz.distance import Indel

from cairn.core.errors import CairnError
from cairn.core.keys import text_key
from cairn.core.table import Ids, Keys

PARTS, BINS, BLOCK = 6, 21, 512  # parts of a text, bins of characters in each; representatives compared at once

Counts = npt.NDArray[np.int16]


def similar(texts: Sequence[str], group: npt.ArrayLike, threshold: float = 0.95) -> Keys:
    """Return one key per row, uint64 [N]; texts of one cluster share a key within a group.

    The key is the text key of the cluster's representative. It is only valid within its group.

    Args:
        texts: one per row; lone surrogates are allowed.
        group: ids [N]; texts of different groups are never compared.
        threshold: minimum ratio, above 0 and at most 1; with 1 only equal texts match.

    Raises:
        CairnError: the threshold is out of range, or the number of groups differs from that of texts.
    """
    if not 0 < threshold <= 1:
        raise CairnError(f"similar: expected a threshold above 0 and at most 1, got {threshold!r}")
    is_list = isinstance(group, (list, tuple))  # NumPy converts a list with ids below and above 2**63 to float64
    groups = (np.array(group, object) if is_list else np.asarray(group)).reshape(-1).tolist()
    if len(groups) != len(texts):
        raise CairnError(f"similar: expected one group a text, got {len(texts)} texts and {len(groups)} groups")
    clusters: defaultdict[object, _Clusters] = defaultdict(lambda: _Clusters(threshold))
    known: dict[tuple[object, str], int] = {}
    out = np.empty(len(texts), np.uint64)
    for row, at in enumerate(zip(groups, texts, strict=True)):
        if (key := known.get(at)) is None:
            key = known[at] = clusters[at[0]].key(at[1])
        out[row] = key
    return out


class _Clusters:
    """The representatives of one group, in the order of their clusters."""

    def __init__(self, threshold: float) -> None:
        self.threshold = threshold
        self.texts: list[str] = []
        self.parts: list[list[str]] = []
        self.lengths: list[Ids] = []  # one array per block, [BLOCK]
        self.counts: list[Counts] = []  # one array per block, [PARTS, BINS, BLOCK]

    def key(self, text: str) -> int:
        """Return the key of the first matching cluster, or of a new one."""
        codes = np.frombuffer(text.encode("utf-32-le", "surrogatepass"), "<u4")
        parts = [codes[codes % PARTS == i].tobytes().decode("utf-32-le", "surrogatepass") for i in range(PARTS)]
        exact = np.bincount(codes % (PARTS * BINS), minlength=PARTS * BINS).reshape(BINS, PARTS).T
        counts = np.minimum(exact, np.iinfo(np.int16).max).astype(np.int16)  # never increases a difference
        for i, limit, bounds in self._near(len(text), counts):
            if self._is_alike(text, parts, i, limit, bounds):
                return text_key(self.texts[i])
        self._add(text, parts, counts)
        return text_key(text)

    def _near(self, length: int, counts: Counts) -> Iterator[tuple[int, int, list[int]]]:
        """Yield the representatives that pass the cheap bounds.

        Each comes with its number, an upper limit of edits (at most one too many) and the minimum edits of each part.
        """
        for first, lengths, of in zip(range(0, len(self.texts), BLOCK), self.lengths, self.counts, strict=True):
            size = min(len(self.texts) - first, BLOCK)
            total = lengths[:size] + length
            limits = (total * (1 - self.threshold)).astype(np.int64) + 1
            is_near = np.abs(total - 2 * length) <= limits
            if is_near.any():
                bounds = np.abs(of[:, :, :size] - counts[:, :, None]).sum(1, np.int32)
                for i in np.flatnonzero(is_near & (bounds.sum(0) <= limits)).tolist():
                    yield first + i, int(limits[i]), bounds[:, i].tolist()

    def _is_alike(self, text: str, parts: list[str], i: int, limit: int, bounds: list[int]) -> bool:
        left = limit - sum(bounds)
        for mine, other, bound in zip(parts, self.parts[i], bounds, strict=True):
            left -= Indel.distance(mine, other, score_cutoff=left + bound) - bound
            if left < 0:
                return False
        total = len(text) + len(self.texts[i])
        return (total - Indel.distance(text, self.texts[i], score_cutoff=limit)) / total >= self.threshold

    def _add(self, text: str, parts: list[str], counts: Counts) -> None:
        place = len(self.texts) % BLOCK
        if place == 0:
            self.lengths.append(np.zeros(BLOCK, np.int64))
            self.counts.append(np.zeros((PARTS, BINS, BLOCK), np.int16))
        self.lengths[-1][place] = len(text)
        self.counts[-1][:, :, place] = counts
        self.texts.append(text)
        self.parts.append(parts)
