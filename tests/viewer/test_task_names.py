"""Pages, reports and curves call tasks held out only where the run's store says that they are."""

from __future__ import annotations

from pathlib import Path

import pytest
from starlette.testclient import TestClient

from cairn.core.store import RunStore
from cairn.viewer.app import make_app
from cairn.viewer.catalog import find_runs
from cairn.viewer.curves import draw_curves
from cairn.viewer.report import write_report
from tests.viewer.stored import EVAL, METRICS, make_run

NAMES = {0.0: "held-out tasks", 1.0: "training tasks", 0.25: "25% of them training tasks", None: "evaluation tasks"}


def made(folder: Path, share: float | None) -> Path:
    extra = {} if share is None else {"eval/training_share": share}
    return make_run(folder, metrics={**METRICS, **EVAL, **extra})


def shown(folder: Path, tmp_path: Path) -> list[str]:
    """Return the texts of the viewer's first page, the run's page, and a report."""
    client = TestClient(make_app(find_runs([folder])), base_url="http://127.0.0.1")
    write_report([folder], tmp_path / "report.html")
    return [client.get("/").text, client.get("/runs/1-house").text, (tmp_path / "report.html").read_text()]


@pytest.mark.parametrize("share", NAMES, ids=str)
def test_each_page_names_the_tasks_of_the_evaluation(share: float | None, tmp_path: Path) -> None:
    for text in shown(made(tmp_path / "house", share), tmp_path):
        assert NAMES[share] in text
        assert ("held-out" in text.lower()) == (share == 0.0)
        assert "held out" not in text.lower()


def test_the_success_chart_of_several_runs_has_a_title_that_holds_for_all(tmp_path: Path) -> None:
    runs = [made(tmp_path / name, share) for name, share in (("a", 0.0), ("b", 1.0))]
    client = TestClient(make_app(find_runs(runs)), base_url="http://127.0.0.1")
    assert "Success on evaluation tasks" in client.get("/").text


@pytest.mark.rotating(4)
def test_the_picture_of_a_run_names_the_evaluation_tasks_too(tmp_path: Path) -> None:
    pictures = set()
    for share in NAMES:
        with RunStore.read(made(tmp_path / str(share) / "house", share)) as store:
            pictures.add(draw_curves(store, tmp_path / "curves.png", "house").read_bytes())
    assert len(pictures) == len(NAMES)
