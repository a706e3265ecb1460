"""Writes docs/algorithms.md: docstrings of credit methods, and their CreditBench results."""

from __future__ import annotations

import ast
import json
from collections.abc import Iterable, Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from cairn.core.errors import CairnError
from cairn.core.plugins import CREDITS

EXACT = "(exact)"  # name of the exact advantages in the results file
SIZE, LEVEL = 8, 0.4  # the rows of CreditBench on the page
_METRICS = (("cosine", "gradient cosine"), ("correlation", "correlation with the exact advantages"))
_HEAD = """# Credit methods

Written by `make docs` from the code and from docs/creditbench.json; do not edit. The settings of each method are listed
in [plugins.md](plugins.md), how to add one in [add_credit.md](add_credit.md).

```python
import cairn

table = cairn.StepTable.from_columns(group=g, episode=e, turn=t, anchor=s, action=a, reward=r)  # arrays of N, any order
advantage = cairn.advantages(table, "closure")  # float64 [N], in the order of the rows given
```

Words used below: an episode's score is the sum of its rewards; "std" is the standard deviation with the divisor named;
x is the state that a step led to, V(x) its value. Where a method's paper and its authors' code disagree, both can be
chosen, and the default is named. Papers are named by their arXiv numbers.

**CreditBench** (`cairn bench credit --out docs`): six small problems whose advantages are known exactly, policies that
score 0.02, 0.4 and 0.9, groups of 4, 8 and 16 episodes. The rows below are for groups of {size} at {level:.0%}: means
over four tasks of 300 groups each, with 95 % bootstrap intervals over groups; the rank is among all methods measured,
averaged over the problems and the three levels. Methods that need a critic, roles or reward channels are not measured.

![CreditBench](creditbench.png)

**Assumptions.** Some methods assume a terminal reward: no turn but an episode's last earns one. They treat episodes as
successes or failures and prefer short ways to a success. Where other turns earn rewards too, and the policy decides
when to stop, their expected update points against the exact policy gradient. A run is refused where its environment
does not declare the assumptions of its method (`EnvMeta.has_terminal_reward`, `EnvMeta.reward_range`).
`tests/properties/test_credit_direction.py` measures every method.
"""


def page(results: Path) -> str:
    """Return the page in Markdown; without the results file, it has no measurements.

    Raises:
        CairnError: the file is not a results file.
    """
    try:
        measured = json.loads(results.read_text(encoding="utf-8"))["results"] if results.is_file() else []
    except (ValueError, KeyError, TypeError):
        raise CairnError(f"Expected a file of `cairn bench credit --out DIR`, got {str(results)!r}") from None
    lines = [line for line in measured if line["size"] == SIZE]
    ranks = {metric: _mean_ranks(lines, metric) for metric, _ in _METRICS}
    parts = [_HEAD.format(size=SIZE, level=LEVEL)]
    for name, place in CREDITS.places().items():
        if ":" not in place:  # plug-ins of other packages are not part of this repository's page
            parts += [f"## {name}", "", *_words(place), "", *_assumptions(name), *_rows(name, lines, ranks), ""]
    return "\n".join(parts).rstrip() + "\n"


def _assumptions(name: str) -> list[str]:
    """Return a line with a method's assumptions on environments; violations refuse a run."""
    assumes = CREDITS.load(name).assumes
    return [f"Assumes of the environment: {' and '.join(assumes)}.", ""] if assumes else []


def _words(place: str) -> list[str]:
    """Return a module's docstring as Markdown, with literal blocks fenced."""
    spec = find_spec(place)
    assert spec is not None
    assert spec.origin is not None
    docstring = ast.get_docstring(ast.parse(Path(spec.origin).read_text(encoding="utf-8"))) or ""
    out: list[str] = []
    is_block = False
    for line in docstring.splitlines():
        if line.startswith("    ") and not is_block:
            out += ["```text"]
            is_block = True
        if line.strip() and not line.startswith("    ") and is_block:
            out = [*_without_blank_end(out), "```", ""]
            is_block = False
        if line != "::":
            out.append(line[4:] if is_block else line.removesuffix("::") + (":" if line.endswith("::") else ""))
    return [*_without_blank_end(out), *(["```"] if is_block else [])]


def _without_blank_end(lines: list[str]) -> list[str]:
    while lines and not lines[-1].strip():
        lines = lines[:-1]
    return lines


def _rows(name: str, lines: list[dict[str, Any]], ranks: Mapping[str, Mapping[str, float]]) -> Iterable[str]:
    """Yield the lines of the method's table of measurements; none if it was not measured."""
    mine = [line for line in lines if line["method"] == name and line["level"] == LEVEL]
    if not mine:
        return
    worlds = [line["world"] for line in mine]
    yield f"| CreditBench | mean rank of {len(ranks['cosine'])} | {' | '.join(worlds)} |"
    yield "|---|---|" + "---|" * len(worlds)
    for metric, title in _METRICS:
        cells = ("{:.2f} [{:.2f}, {:.2f}]".format(*line[metric]) for line in mine)
        yield f"| {title} | {ranks[metric][name]:.1f} | {' | '.join(cells)} |"


def _mean_ranks(lines: list[dict[str, Any]], metric: str) -> dict[str, float]:
    """Return each method's rank averaged over the conditions; ties get their mean rank."""
    found: dict[str, list[float]] = {}
    for world, level in dict.fromkeys((line["world"], line["level"]) for line in lines):
        at = (world, level)
        here = {x["method"]: x[metric][0] for x in lines if (x["world"], x["level"]) == at and x["method"] != EXACT}
        for method, value in here.items():
            better = sum(other > value for other in here.values())
            ties = sum(other == value for other in here.values())
            found.setdefault(method, []).append(better + (ties + 1) / 2)
    return {method: sum(each) / len(each) for method, each in found.items()}
