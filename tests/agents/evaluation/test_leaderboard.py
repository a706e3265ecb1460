"""Kept evaluations as a table: best first, panels apart, names harmless."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from cairn.agents.evaluation.evaluate import evaluate
from cairn.agents.evaluation.leaderboard import find_evaluations, leaderboard
from cairn.agents.evaluation.panel import make_panel
from cairn.agents.evaluation.sanity_checks import RewardHackingSigns, keep_verdicts
from cairn.core.errors import CairnError
from cairn.core.store import RunStore
from tests.agents.evaluation.test_panel import part

PANEL = make_panel("doors", "", [part(), part(family="quick", config={"turn_limit": 3})])


def test_each_panel_has_a_table_with_the_best_agents_first(tmp_path: Path) -> None:
    other = make_panel("other", "", [part(seed=9)])
    for agent, panel in (("constant:wait", PANEL), ("oracle", PANEL), ("oracle", other)):
        evaluate(agent, panel=panel, root=tmp_path)
    found, problems = find_evaluations([tmp_path])
    lines = leaderboard(found).splitlines()
    assert problems == []
    assert [line for line in lines if line.startswith("## ")] == ["## doors, version 1", "## other, version 1"]
    assert f"`{PANEL.hash}`" in lines
    rows = [line for line in lines if line.startswith(("| oracle", "| constant"))]
    assert [row.split(" | ")[0] for row in rows] == ["| oracle", "| constant:wait", "| oracle"]
    assert "100.0 \\[34.2, 100.0] | 100.0 \\[34.2, 100.0]" in rows[0]


def test_names_are_escaped_in_markdown_and_html(tmp_path: Path) -> None:
    found = evaluate("oracle", panel=PANEL, root=tmp_path)
    table = leaderboard([replace(found, agent="<img src=x onerror=alert(1)> | [x](javascript:y) `\n# z")])
    (row,) = [line for line in table.splitlines() if "img" in line]
    assert "<" not in row
    assert "&lt;img src=x onerror=alert(1)&gt; \\| \\[x](javascript:y) \\` # z" in row


def test_a_backslash_in_a_name_undoes_no_escape(tmp_path: Path) -> None:
    found = evaluate("oracle", panel=PANEL, root=tmp_path)
    name = r"\[x](http://evil.example) a\|b \`c\`"
    (row,) = [line for line in leaderboard([replace(found, agent=name)]).splitlines() if "evil" in line]
    assert row.startswith(r"| \\\[x](http://evil.example) a\\\|b \\\`c\\\` | 100.0")


def test_unreadable_folders_are_reported(tmp_path: Path) -> None:
    evaluate("oracle", panel=PANEL, root=tmp_path)
    (tmp_path / "run").mkdir()
    RunStore(tmp_path / "run" / "run.sqlite").close()
    found, problems = find_evaluations([tmp_path])
    assert len(found) == 1
    assert "holds no evaluation" in problems[0]
    with pytest.raises(CairnError, match="No evaluation was found"):
        find_evaluations([tmp_path / "nowhere"])


def test_evaluations_that_are_not_final_are_last_and_marked(tmp_path: Path) -> None:
    for agent in ("oracle", "random"):
        evaluate(agent, panel=PANEL, root=tmp_path)
    oracle, chance = find_evaluations([tmp_path])[0]
    failed = replace(oracle.parts[0].measures, failed={"sandbox": 1})
    table = leaderboard([replace(oracle, parts=(replace(oracle.parts[0], measures=failed), oracle.parts[1])), chance])
    rows = [line for line in table.splitlines() if line.startswith("| ")][1:]
    assert [row.split(" | ")[0] for row in rows] == ["| random", "| oracle"]
    assert "not final: 100.0" in rows[1]
    assert f"| 1 of {sum(part.measures.episodes for part in oracle.parts) + 1} |" in rows[1]
    assert "not final" not in rows[0]


def test_sanity_checks_and_signs_of_reward_hacking_are_columns_of_the_table(tmp_path: Path) -> None:
    for agent in ("oracle", "random", "null"):
        evaluate(agent, panel=PANEL, root=tmp_path)
    held, fault = {"holds": True, "reasons": []}, {"holds": False, "reasons": ["'null' | solved 2 of 2 tasks"]}
    for each, verdicts in zip(find_evaluations([tmp_path])[0], ([held, held], [held, fault], None), strict=True):
        if verdicts is not None:
            keep_verdicts(each.folder, verdicts)
    found = find_evaluations([tmp_path])[0]
    assert [each.gates and len(each.gates) for each in found] == [2, 2, None]
    signs = RewardHackingSigns(
        episodes=2, score_without_success=3, validator_errors=4, failed={}, tampering={"answers": 5}
    )
    odd = [replace(found[0], parts=(replace(found[0].parts[0], signs=signs), found[0].parts[1])), *found[1:]]
    heads, _, *rows = [line for line in leaderboard(odd).splitlines() if line.startswith("|")]
    columns = heads.strip("| ").split(" | ")
    cells = {row.split(" | ")[0][2:]: row.replace("\\|", "/").strip("| ").split(" | ") for row in rows}
    reported = [dict(zip(columns, cells[each.agent], strict=True)) for each in found]
    assert [each["gates"] for each in reported] == [
        "held", "quick DOES NOT HOLD: 'null' / solved 2 of 2 tasks", "gates not run",
    ]  # fmt: skip
    signed = ("score without success", "validator errors", "tampering")
    assert [[each[name] for name in signed] for each in reported] == [["3", "4", "5"], ["0"] * 3, ["0"] * 3]
