"""A report needs no other file, shows results of runs and evaluations, and executes nothing; figures have lines."""

from __future__ import annotations

import re
from html import unescape
from html.parser import HTMLParser
from operator import methodcaller
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from cairn.agents.evaluation.evaluate import evaluate
from cairn.agents.evaluation.panel import make_panel
from cairn.agents.evaluation.sanity_checks import keep_verdicts
from cairn.cli.main import app
from cairn.core.errors import CairnError
from cairn.core.records import Ending, Episode, Observation, Task, Turn
from cairn.core.store import RunStore
from cairn.viewer.figures import write_figures
from cairn.viewer.report import write_report
from tests.agents.evaluation.test_panel import part
from tests.viewer.test_hostile_runs import PAYLOADS

RATE = {"successes": 3, "episodes": 4, "low": 0.3, "high": 0.95}


def episode(text: str, reward: float) -> Episode:
    turns = tuple(
        Turn(observation=Observation(text=text, anchor=n), reply_text=text, action=text, reward=reward) for n in (1, 2)
    )
    return Episode(
        task=Task(env_id="household", task_id=text),
        group_id=0,
        turns=turns,
        ending=Ending.terminated(),
        score=reward,
        success=reward > 0,
        final=Observation(text=text, anchor=3),
    )


def run(folder: Path, text: str = "You see a pen.", seed: int = 0) -> Path:
    folder.mkdir(parents=True)
    config = {"name": "r", "seed": seed, "env": {"id": "household"}, "credit": {"method": "grpo"}}
    report = {"success": RATE, "by_type": {"pick": RATE}, "mean_score": 0.5, "mean_turns": 2.0, "failed": 0}
    with RunStore(folder / "run.sqlite") as store:
        store.set_meta({"config": config, "versions": {"torch": "2"}, "reports": {"0": report, "2": report}})
        store.environment("household", 1, {"split": "train"})
        for step in (1, 2):
            credit = {"grpo": [1.0, 1.0, -1.0, -1.0]}
            played = [episode(text, 1.0), episode(text, 0.0)]
            store.add(step, {"success": 0.5, "return": 0.5 + seed}, played, task_types=["pick"] * 2, advantages=credit)
        store.add(2, {"eval/success": 0.75, "eval/low": 0.3, "eval/high": 0.95})
    return folder


def test_a_report_has_curves_tables_episodes_a_graph_and_settings(tmp_path: Path) -> None:
    runs = [run(tmp_path / "runs" / f"a{seed}", seed=seed) for seed in (0, 1)]
    found = evaluate("oracle", "examples.doors:Doors", tasks=4, root=tmp_path / "evals")
    assert write_report([*runs, tmp_path / "evals"], tmp_path / "r.html") == (3, [])
    text = (tmp_path / "r.html").read_text()
    for reported in ("a0", "a1", "Success on evaluation tasks", "You see a pen.", 'class="node', "grpo", "oracle"):
        assert reported in text, reported
    assert found.panel.content_hash()[:12] in text
    assert "75 % [30 %, 95 %]" in re.sub(r"\s+", " ", text)
    assert text.count("The best episode of a group") == 2


def test_a_report_shows_sanity_checks_and_signs_of_reward_hacking(tmp_path: Path) -> None:
    folder = evaluate("oracle", "examples.doors:Doors", tasks=4, root=tmp_path / "evals").folder
    write_report([folder], tmp_path / "r.html")
    assert "gates not run" in (tmp_path / "r.html").read_text()
    keep_verdicts(folder, [{"holds": False, "reasons": ["<b>doing nothing</b> solved 2 of 8 tasks"]}])
    write_report([folder], tmp_path / "r.html")
    text = (tmp_path / "r.html").read_text()
    assert "does not hold</span>" in text
    assert "&lt;b&gt;doing nothing&lt;/b&gt; solved 2 of 8 tasks" in text
    assert all(f">{name}</th>" in text for name in ("score without success", "validator errors", "tampering"))


def test_a_report_needs_nothing_else_and_forbids_scripts(tmp_path: Path) -> None:
    write_report([run(tmp_path / "a")], tmp_path / "r.html")
    text = (tmp_path / "r.html").read_text()
    assert "default-src 'none'" in unescape(text)
    assert not re.search(r"<script|<link|<iframe|src=|href=|@import|url\((?!#)", text)


def shapes(file: Path) -> set[tuple[str, tuple[str, ...]]]:
    """Return all elements of a page, each with the names of its attributes."""
    seen: set[tuple[str, tuple[str, ...]]] = set()

    class Reader(HTMLParser):
        def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
            seen.add((tag, tuple(name for name, _ in attrs)))

    Reader().feed(file.read_text())
    return seen


@pytest.mark.parametrize("payload", PAYLOADS)
def test_texts_of_agents_are_escaped(payload: str, tmp_path: Path) -> None:
    plain, hostile = ((tmp_path / name).resolve() for name in ("plain.html", "hostile.html"))
    write_report([run(tmp_path / "p" / "a", "harmless")], plain)
    write_report([run(tmp_path / "h" / "a", payload)], hostile)
    allowed, found = (shapes(file) for file in (plain, hostile))
    assert found <= allowed


def test_an_evaluation_has_its_settings_and_the_best_and_the_worst_episode_of_each_part(tmp_path: Path) -> None:
    tasks = {f"{colour}-{n}": "" for colour in ("amber", "red") for n in range(4)}
    panel = make_panel("doors", "", [part(tasks=tasks, attempts=2), part(family="again", tasks=tasks)])
    settings = {"sampling": {"max_context": 512}}
    folder = evaluate("random", panel=panel, settings=settings, temperature=0.7, root=tmp_path).folder
    with RunStore(folder / "run.sqlite") as store:
        for number, score in ((3, 9.0), (5, -9.0)):
            store._write(methodcaller("execute", f"UPDATE episodes SET score = {score} WHERE id = {number}"))
        tasks_of = dict(store.rows("SELECT e.id, t.task FROM episodes e JOIN tasks t ON t.id = e.task"))
    write_report([folder], tmp_path / "r.html")
    text = (tmp_path / "r.html").read_text()
    first, second = text.split("by score <")[1:3]
    assert f"{tasks_of[3]}, score 9<" in first
    assert f"{tasks_of[5]}, score \u22129<" in second
    assert text.count("The best episode by score") == 2
    for reported in (
        "<dt>temperature</dt><dd>0.7<",
        "sampling.max_context",
        "<code>512<",
        "pass@2",
        "examples.doors:Doors</dt>",
    ):
        assert reported in text, reported


def test_texts_of_an_evaluation_are_escaped_and_bounded(tmp_path: Path) -> None:
    plain, hostile = ((tmp_path / name) for name in ("plain.html", "hostile.html"))
    for file, agent in ((plain, "constant:wait"), (hostile, "constant:" + "".join(PAYLOADS[:30]) + "y" * 100_000)):
        found = evaluate(agent, "examples.doors:Doors", tasks=2, root=tmp_path / file.stem)
        write_report([found.folder], file)
    assert shapes(hostile) <= shapes(plain)
    assert len(hostile.read_text()) < len(plain.read_text()) + 50_000


def test_one_run_that_cannot_be_read_is_a_row_of_the_report(tmp_path: Path) -> None:
    good, bad = run(tmp_path / "good"), tmp_path / "<b>bad"
    bad.mkdir()
    (bad / "run.sqlite").write_bytes(b"no database at all" * 100)

    def stop(*_: object) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        evaluate("oracle", "examples.doors:Doors", tasks=4, root=tmp_path / "evals", on_episode=stop)
    count, problems = write_report([good, bad, tmp_path / "evals"], tmp_path / "r.html")
    assert count == 1
    assert ["Cannot open" in problems[0], "stopped after 1 of 4" in problems[1]] == [True, True]
    rows = (tmp_path / "r.html").read_text().split("What cannot be shown</h2>")[1].split("</table>")[0]
    assert rows.count("<tr>") == 3  # with the head
    assert "&lt;b&gt;bad" in rows
    assert "stopped after 1 of 4 episodes" in rows
    reported = CliRunner().invoke(app, ["report", str(good), str(bad), "--out", str(tmp_path / "r.html")])
    assert (reported.exit_code, reported.output.count("left out: Cannot open")) == (0, 1)
    with pytest.raises(CairnError, match="Nothing at these places can be read: Cannot open"):
        write_report([bad], tmp_path / "r.html")


def test_a_report_of_nothing_is_refused(tmp_path: Path) -> None:
    with pytest.raises(CairnError, match="holds no run"):
        write_report([tmp_path], tmp_path / "r.html")
    with pytest.raises(CairnError, match="Cannot write"):
        write_report([run(tmp_path / "a")], tmp_path / "none" / "r.html")


def test_figures_are_written_for_the_measured_metrics(tmp_path: Path) -> None:
    runs = [run(tmp_path / f"a{seed}", seed=seed) for seed in (0, 1)]
    files = write_figures(runs, tmp_path / "figures")
    names = {file.name for file in files}
    assert names == {f"{n}.{k}" for n in ("eval-success", "success", "return") for k in ("svg", "png")}
    svg = (tmp_path / "figures" / "return.svg").read_text()
    assert "FillBetweenPolyCollection" in svg or "PolyCollection" in svg  # the interval over two seeds


def test_the_command_writes_both(tmp_path: Path) -> None:
    where = str(run(tmp_path / "a"))
    asked = ["report", where, "--out", str(tmp_path / "r.html"), "--figures", str(tmp_path / "f")]
    done = CliRunner().invoke(app, asked)
    assert done.exit_code == 0, done.output
    assert "1 run in" in done.output
    assert np.fromfile(tmp_path / "f" / "return.png", np.uint8)[1:4].tobytes() == b"PNG"
