"""Pages of evaluations, whole and interrupted."""

from __future__ import annotations

import re
import shutil
from collections.abc import Sequence
from operator import methodcaller
from pathlib import Path

import pytest
from starlette.testclient import TestClient

from cairn.agents.evaluation.evaluate import evaluate
from cairn.agents.evaluation.panel import PanelSection, make_panel
from cairn.agents.evaluation.sanity_checks import count_signs, keep_verdicts
from cairn.core.folders import writing_to
from cairn.core.records import Episode
from cairn.core.store import RunStore, read
from cairn.viewer.app import make_app
from cairn.viewer.catalog import find_runs
from tests.agents.evaluation.test_panel import part
from tests.agents.tiny import shared
from tests.viewer.stored import make_run

TASKS = {f"amber-{n}": "" for n in range(6)}
PANEL = make_panel("doors", "", [part(tasks=TASKS), part(family="again", tasks=TASKS)])


def texts(folders: Sequence[Path], *paths: str) -> list[str]:
    """Return the pages without their tags."""
    client = TestClient(make_app(find_runs(folders)), base_url="http://127.0.0.1")
    answers = [client.get(path) for path in paths]
    assert {answer.status_code for answer in answers} == {200}
    return [re.sub(r"\s+", " ", re.sub(r"<[^>]*>", " ", answer.text)) for answer in answers]


def test_evaluations_are_listed_apart_from_training_runs(tmp_path: Path) -> None:
    oracle = evaluate("oracle", panel=PANEL, root=tmp_path).folder
    idle = evaluate("constant:wait", panel=PANEL, settings={"sampling": {"max_context": 99}}, root=tmp_path).folder
    both, alone = texts([oracle, idle, make_run(tmp_path / "house")], "/")[0], texts([oracle, idle], "/")[0]
    assert both.index("1 of 2") < both.index("Evaluations") < both.index("constant:wait")  # updates, then evaluations
    assert "sampling.max_context=99" in both
    for page in (both, alone):
        assert page.count("100 % [61 %, 100 %]") == 2  # Wilson's, 6 of 6: 6 / (6 + 1.96^2) = 0.61
        assert page.count("0 % [0 %, 39 %]") == 2
    assert "Another metric" in both
    assert not any(words in alone for words in ("No metrics yet", "live", "Another metric", "updates"))


def test_the_page_of_an_evaluation_shows_its_results(tmp_path: Path) -> None:
    folder = evaluate("oracle", panel=PANEL, root=tmp_path).folder
    run = f"/runs/{find_runs([folder])[0].slug}"
    page, groups, live = texts([folder], run, f"{run}/groups?phase=eval&step=1", f"{run}/live")
    assert f"doors {PANEL.content_hash()[:12]}" in page
    assert "12 of 12" in page
    assert "6 episodes scored" in page
    assert "Success by number of turns" in page
    assert "Result" in page
    assert "Curves" not in page
    assert "amber-5" in groups
    assert "6 episodes scored" in live


def test_results_of_the_sanity_checks_are_beside_the_numbers(tmp_path: Path) -> None:
    folder = evaluate("oracle", panel=PANEL, root=tmp_path).folder
    run = f"/runs/{find_runs([folder])[0].slug}"
    for page in texts([folder], "/", run):
        assert page.count("gates not run") == 2
    fault = "the agent 'null', which should win nothing, solved 2 of 8 tasks"
    keep_verdicts(folder, [{"holds": True, "reasons": []}, {"holds": False, "reasons": [fault]}])
    for page in texts([folder], "/", run):
        assert "gates not run" not in page
        assert page.count("held") == 1
        assert page.index("held") < page.index("does not hold") < page.index("solved 2 of 8 tasks")


def test_signs_of_reward_hacking_are_shown(tmp_path: Path) -> None:
    folder = evaluate("constant:wait", panel=PANEL, root=tmp_path).folder
    with RunStore(folder / "run.sqlite") as store:
        changes = (
            "UPDATE episodes SET score = 0.9 WHERE step = 0 AND id < 3",
            """UPDATE turns SET channels = '{"tampering/answers": 2, "other": 1}' WHERE episode = 4""",
            "UPDATE episodes SET score = NULL, success = NULL, ending = 'failed', cause = 'reward' WHERE id = 5",
        )
        for change in changes:
            store._write(methodcaller("execute", change))
    page = texts([folder], f"/runs/{find_runs([folder])[0].slug}")[0]
    first, second = [" ".join(each.split()[:6]) for each in page.split("excluded: failed by the infrastructure ")[1:]]
    assert first.startswith("2 1 answers: 1 1")
    assert second.startswith("0 0 0 0")
    assert page.count("not final") == 1
    assert "success with these as failures: 0 % [0 %, " in page
    with RunStore.read(folder) as store:
        rows = read.episodes(store, step=0)
        whole = count_signs(list(read.whole_episodes(store, rows)))
    assert (whole.score_without_success, whole.validator_errors, dict(whole.tampering)) == (2, 1, {"answers": 1})


def test_facts_stored_after_the_last_episode_are_shown(tmp_path: Path) -> None:
    folder = evaluate("oracle", panel=PANEL, root=tmp_path).folder
    slug = find_runs([folder])[0].slug
    client = TestClient(make_app(find_runs([folder])), base_url="http://127.0.0.1")
    with RunStore(folder / "run.sqlite") as store:
        store._write(methodcaller("execute", "DELETE FROM meta WHERE key = 'seconds'"))
        before = client.get(f"/runs/{slug}/live")
        assert "<dd>\u2013</dd>" in before.text
        store.set_meta({"seconds": 90.0})
    after = client.get(f"/runs/{slug}/live", headers={"If-None-Match": before.headers["etag"]})
    assert after.status_code == 200
    assert "<dd>90\u00a0s</dd>" in after.text


def test_tokens_and_prompts_are_decoded_by_the_agents_tokenizer(tmp_path: Path) -> None:
    shared().save(tmp_path / "model")
    folder = evaluate(str(tmp_path / "model"), "examples.doors:Doors", tasks=1, root=tmp_path / "evals").folder
    slug = find_runs([folder])[0].slug
    client = TestClient(make_app(find_runs([folder])), base_url="http://127.0.0.1")
    page, prompt = (client.get(f"/runs/{slug}/episodes/1{end}") for end in ("", "/turns/0/prompt.txt"))
    assert 'title="logprob ' in page.text
    assert "door" in prompt.text
    shutil.rmtree(tmp_path / "model")
    page = client.get(f"/runs/{slug}/episodes/1")
    assert 'title="logprob ' not in page.text
    assert "has no tokenizer that can be read here" in page.text
    with RunStore(folder / "run.sqlite") as store:
        store.set_meta({"facts": {**store.meta()["facts"], "agent_folder": "x" * 5000}})
    assert client.get(f"/runs/{slug}/episodes/1").status_code == 200


def test_an_evaluation_is_followed_while_a_process_writes_it(tmp_path: Path) -> None:
    played = list[Episode]()

    def stop(_: PanelSection, episode: Episode) -> None:
        played.append(episode)
        if len(played) == 8:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        evaluate("oracle", panel=PANEL, root=tmp_path, on_episode=stop)
    (folder,) = (each for each in tmp_path.iterdir())
    run = f"/runs/{find_runs([folder])[0].slug}"
    first, page = texts([folder], "/", run)
    assert "2 of 6" in first
    assert "8 of 12" in page
    assert "live" not in first  # the process runs, and has let go of the folder
    assert "follows the evaluation" not in page
    with writing_to(folder, "an evaluation"):
        first, page = texts([folder], "/", run)
    assert "live" in first
    assert "follows the evaluation" in page
    first, page = texts([folder], "/", run)
    assert "live" not in first
    assert "repeat the same cairn eval to continue" in page
    evaluate("oracle", panel=PANEL, root=tmp_path)
    assert "12 of 12" in texts([folder], run)[0]  # the new episodes are shown


def test_a_run_that_only_resembles_an_evaluation_is_shown_as_a_run(tmp_path: Path) -> None:
    folder = make_run(tmp_path / "house")
    with RunStore(folder / "run.sqlite") as store:
        store.set_meta({"panel": {"name": "no panel"}})
    first, page = texts([folder], "/", "/runs/1-house")
    assert "1 of 2" in first
    assert "Updates" in page
