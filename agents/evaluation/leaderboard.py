"""Writes stored evaluations as Markdown tables, best first: one table per panel hash.

Rows are sorted by mean success over parts, with excluded episodes counted as failures, so that failed episodes bring no
advantage. Evaluations that are not final come last.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

from cairn.agents.evaluation.evaluate import Evaluation, load_evaluation
from cairn.agents.evaluation.metrics import Measures
from cairn.agents.evaluation.statistics import Interval
from cairn.core.errors import CairnError

_COLUMNS = (
    "turns", "tokens", "cost", "excluded", "score without success", "validator errors", "tampering", "settings",
)  # fmt: skip


def find_evaluations(places: Iterable[Path]) -> tuple[list[Evaluation], list[str]]:
    """Return the evaluations in these folders or their subfolders, and reasons for skipped ones.

    Raises:
        CairnError: no evaluation was found.
    """
    found, problems = [], []
    for place in places:
        folders = [place] if (place / "run.sqlite").is_file() else sorted(file.parent for file in _stores(place))
        for folder in folders:
            try:
                found.append(load_evaluation(folder))
            except CairnError as error:
                problems.append(str(error))
    if not found:
        reason = f": {problems[0]}" if problems else ""
        raise CairnError(f"No evaluation was found{reason or '; cairn eval makes one'}")
    return found, problems


def leaderboard(evaluations: Sequence[Evaluation]) -> str:
    """Return Markdown: for each panel a table of agents, sorted by mean success over its parts."""
    panels = {each.panel.content_hash(): each.panel for each in evaluations}
    lines: list[str] = []
    for key, panel in sorted(panels.items(), key=lambda item: (item[1].name, item[0])):
        of_panel = [each for each in evaluations if each.panel.content_hash() == key]
        lines += [f"## {_cell(panel.name)}, version {panel.version}", "", f"`{key}`", ""]
        lines += [*_table(of_panel), ""]
    return "\n".join(lines).rstrip() + "\n"


# -- helpers -----------------------------------------------------------------------------------------------------------


def _stores(place: Path) -> list[Path]:
    return list(place.glob("*/run.sqlite"))


def _table(evaluations: Sequence[Evaluation]) -> list[str]:
    families = [part.family for part in evaluations[0].parts]
    columns = ["agent", *(f"{family}, %" for family in families), "gates", *_COLUMNS]
    ordered = sorted(evaluations, key=lambda each: (not each.is_final, -_mean(each), each.agent, each.facts["key"]))
    rows = [_row(each) for each in ordered]
    return ["| " + " | ".join(map(_cell, columns)) + " |", "|" + "---|" * len(columns), *rows]


def _row(found: Evaluation) -> str:
    measures = [part.measures for part in found.parts]
    tokens = [m.prompt_tokens + (m.reply_tokens or 0) for m in measures if m.prompt_tokens is not None]
    costs = [m.cost for m in measures if m.cost is not None]
    cells = [
        found.agent,
        *map(_success, measures),
        _gates(found),
        ", ".join("" if m.turns is None else f"{m.turns.mean:.1f}" for m in measures),
        ", ".join(f"{each:,.0f}" for each in tokens),
        f"{sum(costs):.4f}" if costs else "",
        _excluded(measures),
        str(sum(part.signs.score_without_success for part in found.parts)),
        str(sum(part.signs.validator_errors for part in found.parts)),
        str(sum(sum(part.signs.tampering.values()) for part in found.parts)),
        f"t={found.facts['temperature']}, {found.facts['agent_hash'][:8]}",
    ]
    return "| " + " | ".join(map(_cell, cells)) + " |"


def _gates(found: Evaluation) -> str:
    """Return the failed parts with reasons, or one word for all parts."""
    marks = [(part.family, found.mark(number)) for number, part in enumerate(found.parts)]
    faults = [f"{family} {mark}" for family, mark in marks if mark.holds is False]
    return ", ".join(faults) or str(marks[0][1])


def _success(found: Measures) -> str:
    shown = _percent(found.success)
    if found.is_final:
        return shown
    return f"{shown or 'nothing scored'}, not final: {_percent(found.pessimistic_success)} with exclusions as failures"


def _excluded(measures: Sequence[Measures]) -> str:
    excluded = sum(m.excluded for m in measures)
    return f"{excluded} of {sum(m.episodes + m.excluded for m in measures)}" if excluded else "0"


def _percent(found: Interval | None) -> str:
    return "" if found is None else f"{100 * found.mean:.1f} [{100 * found.low:.1f}, {100 * found.high:.1f}]"


def _mean(found: Evaluation) -> float:
    successes = [part.measures.pessimistic_success for part in found.parts]
    values = [0.0 if each is None else each.mean for each in successes]
    return sum(values) / len(values)


def _cell(text: str) -> str:
    """Return a text with Markdown and HTML escaped; names of agents and panels are untrusted."""
    flat = " ".join(text.split())
    for char in "\\|[`":  # the backslash first, so that added backslashes are not escaped
        flat = flat.replace(char, f"\\{char}")
    return flat.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
