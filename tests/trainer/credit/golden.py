"""Small trajectory graphs for tests of credit, written as paths, and the golden table E2 of the graph family."""

from __future__ import annotations

from collections.abc import Sequence

from cairn.core.keys import text_key
from cairn.core.table import StepTable


def paths(*episodes: str, success: float = 1.0, groups: Sequence[int] | None = None) -> StepTable:
    """Return the table of episodes such as ``"s0 a u c +"``: a state, an action, a state, an action, an end.

    Ends: ``+`` solved, and the last step earns `success`; ``-`` not solved; ``?`` cut by a budget, in a state that
    nobody recorded; any other word: cut by a budget in that state.
    """
    words = [episode.split() for episode in episodes]
    assert all(len(word) >= 3 and len(word) % 2 for word in words), f"each episode begins and ends in a state: {words}"
    rows = [(e, t) for e, word in enumerate(words) for t in range(len(word) // 2)]
    end = [word[-1] for word in words]
    is_last = [2 * t + 3 == len(words[e]) for e, t in rows]
    knows_all = all(of in "+-" for of in end) or any(of not in "+-?" for of in end)
    after = [f"? {e}" if words[e][2 * t + 2] == "?" else words[e][2 * t + 2] for e, t in rows]
    return StepTable.from_columns(
        group=[0 if groups is None else groups[e] for e, _ in rows],
        episode=[e for e, _ in rows],
        turn=[t for _, t in rows],
        anchor=[text_key(words[e][2 * t]) for e, t in rows],
        action=[text_key(words[e][2 * t + 1]) for e, t in rows],
        next_anchor=[text_key(word) for word in after] if knows_all else None,
        reward=[success * (last and end[e] == "+") for (e, _), last in zip(rows, is_last, strict=True)],
        success=[end[e] == "+" for e, _ in rows],
        truncated=[end[e] not in "+-" for e, _ in rows],
    )


def e2(success: float = 1.0) -> StepTable:
    """Return the golden table E2: three episodes of one task; the solved ones earn `success`.

    ::

        s0 --a--> u --c--> +              episodes 1 and 3
        s0 --b--> w --d--> u --e--> -     episode 2, which first tries n at w and stays there

        row       1.0  1.1 | 2.0  2.1  2.2  2.3 | 3.0  3.1
        state      s0    u |  s0    w    w    u |  s0    u
        action      a    c |   b    n    d    e |   a    c

    b merely delays: its next states lead to success as often as those of a. e loses. n wastes a turn.
    """
    return paths("s0 a u c +", "s0 b w n w d u e -", "s0 a u c +", success=success)


def e2_rows(*first_six: float) -> list[float]:
    """Return values of the eight rows of E2 from those of episodes 1 and 2; episode 3 is like episode 1."""
    return [*first_six, *first_six[:2]]
