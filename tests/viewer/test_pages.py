"""Pages of a run whose numbers are known."""

from __future__ import annotations

import json
import shutil
import socket
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from starlette.testclient import TestClient
from tokenizers import Tokenizer
from tokenizers.models import WordLevel

from cairn.core.errors import CairnError
from cairn.core.folders import writing_to
from cairn.core.store import RunStore
from cairn.viewer import credited
from cairn.viewer.app import make_app
from cairn.viewer.catalog import find_runs
from cairn.viewer.credited import TRAINED, stored_update
from tests.viewer.stored import CELLAR, CONFIG, HALL, KITCHEN, episode, make_run, turn

Ask = Callable[..., str]
RUN, GROUP = "/runs/1-house", "/runs/1-house/groups/train/1/0"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return make_run(tmp_path / "house")


@pytest.fixture
def client(folder: Path) -> TestClient:
    return TestClient(make_app(find_runs([folder])), base_url="http://127.0.0.1")


def text(client: TestClient, path: str, status: int = 200) -> str:
    answer = client.get(path)
    assert answer.status_code == status, answer.text
    return answer.text


def test_the_first_page_shows_success_with_its_interval(client: TestClient) -> None:
    page = text(client, "/")
    assert "<b>50\u00a0%</b> [25\u00a0%, 75\u00a0%]" in page
    assert "1 of 2" in page  # updates


def test_a_group_has_its_episodes_side_by_side(client: TestClient) -> None:
    page = text(client, GROUP)
    assert [page.index(action) for action in ("go kitchen", "go cellar", "open door", "wait")] == sorted(
        page.index(action) for action in ("go kitchen", "go cellar", "open door", "wait")
    )
    assert page.count(">s1</a>") == 2  # both were in the hall, and nowhere else together
    assert "s2" not in page.split("<tbody>")[1]


def test_the_page_of_an_episode_shows_rewards_advantages_and_visits(client: TestClient) -> None:
    page = text(client, f"{RUN}/episodes/1")
    assert page.count("+1.00") >= 2
    assert "2 turns at it" in page  # the hall
    assert page.count("seen here alone") == 1  # the kitchen
    assert "No checkpoint of this run has a tokenizer" in page


def test_tokens_are_shown_with_their_logprobs(client: TestClient, folder: Path) -> None:
    place = folder / "checkpoints" / "update-000001"
    place.mkdir(parents=True)
    Tokenizer(WordLevel({"<none>": 0, "go": 1, "north": 2}, unk_token="<none>")).save(str(place / "tokenizer.json"))
    page = text(client, f"{RUN}/episodes/1")
    assert '<span class="token l0" title="logprob \u22120.01">go</span>' in page
    assert '<span class="token l4" title="logprob \u22122.00">north</span>' in page
    assert '<span class="token t3"' in text(client, f"{RUN}/episodes/1?colour=advantage")


def test_an_invalid_tokenizer_is_reported(client: TestClient, folder: Path) -> None:
    place = folder / "checkpoints" / "update-000001"
    place.mkdir(parents=True)
    (place / "tokenizer.json").write_text("{}")
    assert "No checkpoint of this run has a tokenizer" in text(client, f"{RUN}/episodes/1")


def test_an_anchor_lists_the_turns_at_it(client: TestClient) -> None:
    page = text(client, f"{RUN}/anchors/{HALL:016x}")
    assert "go kitchen" in page
    assert "go cellar" in page
    assert "open door" not in page


def test_the_graph_shows_the_changes_of_another_method(client: TestClient) -> None:
    page = text(client, f"{GROUP}/graph?method=gigpo&against=as+trained&node=0")
    assert page.count('class="edge ') == 4
    assert "3 states, 4 steps" in page
    assert "Steps that change most" in page
    assert "All turns of the run at this anchor" in page


def test_a_method_that_cannot_be_computed_gives_an_error(client: TestClient) -> None:
    assert "Unknown credit" in text(client, f"{GROUP}/graph?method=grppo")
    assert "needs value" in text(client, f"{GROUP}/graph?method=gae")


def test_credit_compares_methods(client: TestClient) -> None:
    page = text(client, f"{RUN}/credit?method=gigpo&method=rloo")
    assert "Agreement over 4 steps" in page
    assert "anchor_coverage" in page
    assert "rloo" in page.split("Measures of this update")[1]


def test_the_system_page_shows_failures(tmp_path: Path) -> None:
    folder = make_run(tmp_path / "house")
    with RunStore(folder / "run.sqlite") as store:
        store.event(1, "warning", "entropy is low")
        store.checkpoint(1, "checkpoints/update-000001")
        store.environment("house", 3, {"size": "tiny"})
    page = text(TestClient(make_app(find_runs([folder])), base_url="http://127.0.0.1"), f"{RUN}/system")
    for said in ("entropy is low", "update-000001", "No episode failed", "&#34;size&#34;: &#34;tiny&#34;"):
        assert said in page


@pytest.mark.parametrize(
    "path",
    [
        "/none", "/runs/none", f"{RUN}/episodes/9", f"{RUN}/episodes/99999999999999999999", f"{RUN}/groups/train/9/9",
        f"{RUN}/groups/train/9/9/graph", f"{RUN}/anchors/xyz", f"{RUN}/anchors/{5:016x}", f"{RUN}/episodes/1?from=7",
        f"{RUN}/episodes?page=-1", f"{RUN}/episodes?page={2**63 - 1}", f"{RUN}/groups?page={2**63 - 1}",
        f"{RUN}/episodes?page={2**63 // 50 + 1}", f"{RUN}/groups?step=x", f"{RUN}/episodes/1/turns/0/secret.txt",
        f"{RUN}/episodes/1/turns/9/reply.txt", f"{RUN}/episodes/1/turns/0/picture.png", "/static/../app.py",
    ],
)  # fmt: skip
def test_a_missing_page_gives_status_404(path: str, client: TestClient) -> None:
    text(client, path, 404)


def test_the_last_page_that_there_can_be_is_empty(client: TestClient) -> None:
    for page in ("groups", "episodes"):
        assert 'class="empty"' in text(client, f"{RUN}/{page}?page={2**63 // 50}")


@pytest.mark.parametrize("page", ["", "/groups", "/episodes", "/credit", "/system"])
def test_a_run_without_anything_has_pages(page: str, tmp_path: Path) -> None:
    (tmp_path / "new").mkdir()
    RunStore(tmp_path / "new" / "run.sqlite").close()
    client = TestClient(make_app(find_runs([tmp_path / "new"])), base_url="http://127.0.0.1")
    assert 'class="empty"' in text(client, f"/runs/1-new{page}")
    text(client, "/")


def test_forgotten_texts_are_reported(tmp_path: Path) -> None:
    folder = make_run(tmp_path / "house")
    with RunStore(folder / "run.sqlite") as store:
        store._write(lambda db: db.execute("DELETE FROM bodies"))
    client = TestClient(make_app(find_runs([folder])), base_url="http://127.0.0.1")
    assert "forgotten to make room" in text(client, f"{RUN}/episodes/1")
    for path in (GROUP, f"{GROUP}/graph", f"{RUN}/anchors/{HALL:016x}"):
        text(client, path)


def test_a_live_page_has_nothing_new_until_something_is_stored(client: TestClient, folder: Path) -> None:
    with writing_to(folder, "a run"):
        first = client.get("/live")
        mark = {"If-None-Match": first.headers["etag"]}
        assert client.get("/live", headers=mark).status_code == 304
        assert "data-more" in first.text
        with RunStore(folder / "run.sqlite") as store:
            store.add(2, {"success": 1.0})
        second = client.get("/live", headers=mark)
    assert second.status_code == 200
    assert "data-more" not in second.text  # two of two updates: it is over
    assert client.get(f"{RUN}/live").status_code == 200


def test_one_run_that_cannot_be_read_is_a_row_of_the_first_page(folder: Path, tmp_path: Path) -> None:
    bad, gone = tmp_path / "bad", make_run(tmp_path / "gone")
    bad.mkdir()
    (bad / "run.sqlite").write_bytes(b"no database at all" * 100)
    client = TestClient(make_app(find_runs([folder, bad, gone])), base_url="http://127.0.0.1")
    assert "/runs/3-gone" in text(client, "/")
    mark = {"If-None-Match": client.get("/live").headers["etag"]}
    assert client.get("/live", headers=mark).status_code == 304
    shutil.rmtree(gone)
    assert client.get("/live", headers=mark).status_code == 200
    for path in ("/", "/live"):
        rows = text(client, path).split("What cannot be shown")
        assert "/runs/1-house" in rows[0]
        assert "no curves" not in rows[0].lower()
        assert "/runs/3-gone" not in rows[0]
        assert rows[1].index("Cannot open run store") < rows[1].index("is not a run: expected a folder")


def test_a_run_that_is_damaged_in_a_later_page_is_reported(folder: Path, tmp_path: Path) -> None:
    long = [episode([turn(f"Room {i}.", i, f"go {i}") for i in range(9)], success=True) for _ in range(20)]
    for name, of in (("episodes", "SELECT rootpage FROM sqlite_master WHERE name = 'episodes'"),
                     ("metrics", "SELECT rootpage FROM sqlite_master WHERE name = 'metrics'")):  # fmt: skip
        bad = make_run(tmp_path / name, long)
        with RunStore(bad / "run.sqlite") as store:
            ((page,),), ((size,),) = store.rows(of), store.rows("PRAGMA page_size")
        with (bad / "run.sqlite").open("r+b") as file:
            file.seek((page - 1) * size)
            file.write(b"\xff" * size)
        client = TestClient(make_app(find_runs([folder, bad])), base_url="http://127.0.0.1")
        for path in ("/", "/live"):
            shown = text(client, path)
            assert "/runs/1-house" in shown
            assert "is damaged" in shown


def test_stored_advantages_and_methods_have_the_same_order(tmp_path: Path) -> None:
    folder = make_run(tmp_path / "house")
    with RunStore.read(folder) as store:
        update = stored_update(store, 1)
        anchors = [int(anchor) for anchor in update.table.anchor]
        assert list(zip(anchors, update.credit(TRAINED).tolist(), strict=True)) == [
            (HALL, 1.0), (KITCHEN, 1.0), (HALL, -1.0), (CELLAR, -1.0),
        ]  # fmt: skip
        grpo = update.credit("grpo")
        assert np.sign(grpo).tolist() == [1, 1, -1, -1]
        with pytest.raises(CairnError, match="Step 7"):
            stored_update(store, 7)


def test_of_a_large_update_the_first_groups_are_compared(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    sizes = ((0, 3), (1, 2), (0, 3), (2, 4), (1, 2))  # group and turns of each episode: groups of 6, 4 and 4 steps
    played = [
        episode([turn("A hall.", HALL, f"go {t}") for t in range(turns)], success=not i, group=group)
        for i, (group, turns) in enumerate(sizes)
    ]
    folder = make_run(tmp_path / "house", played)
    client = TestClient(make_app(find_runs([folder])), base_url="http://127.0.0.1")
    for most, steps in ((14, 14), (13, 10), (9, 6), (5, 6)):
        monkeypatch.setattr(credited, "MOST_STEPS", most)
        page = text(client, f"{RUN}/credit")
        assert f"Agreement over {steps} steps" in page
        assert ("its first groups alone" in page) is (steps < 14)


def test_a_folder_of_runs_is_all_of_them_and_each_once(tmp_path: Path) -> None:
    for name in ("b", "a"):
        make_run(tmp_path / name, config=CONFIG)
    assert [run.slug for run in find_runs([tmp_path, tmp_path / "a"])] == ["1-a", "2-b"]
    with pytest.raises(CairnError, match="holds no run"):
        find_runs([tmp_path / "none"])


def test_the_viewer_loads_no_torch(folder: Path) -> None:
    code = (
        "import sys, json; from pathlib import Path; from starlette.testclient import TestClient\n"
        "from cairn.viewer.app import make_app; from cairn.viewer.catalog import find_runs\n"
        "client = TestClient(make_app(find_runs([Path(sys.argv[1])])), base_url='http://127.0.0.1')\n"
        "paths = ['/', *(f'/runs/1-house{p}' for p in ('', '/groups', '/groups/train/1/0', '/groups/train/1/0/graph',"
        "'/episodes/1', '/credit', '/system'))]\n"
        "print(json.dumps([[client.get(path).status_code for path in paths], 'torch' in sys.modules]))"
    )
    said = subprocess.run([sys.executable, "-c", code, str(folder)], capture_output=True, text=True, check=True).stdout
    assert json.loads(said) == [[200] * 8, False]


def test_a_long_episode_has_pages_of_turns(tmp_path: Path) -> None:
    long = episode([turn(f"Room {i}.", 1000 + i, f"go {i}") for i in range(95)], success=True)
    client = TestClient(make_app(find_runs([make_run(tmp_path / "house", [long])])), base_url="http://127.0.0.1")
    assert text(client, f"{RUN}/episodes/1").count('class="turn"') == 40
    last = text(client, f"{RUN}/episodes/1?from=80")
    assert last.count('class="turn"') == 15 + 1  # and the end
    assert "Room 94." in last


def test_a_run_shows_its_end_and_is_live_only_while_its_process_runs(tmp_path: Path) -> None:
    folder = make_run(tmp_path / "run")
    found = find_runs([folder])[0]

    def page() -> str:
        return text(TestClient(make_app([found]), base_url="http://127.0.0.1"), f"/runs/{found.slug}")

    (folder / ".lock").write_text(f"process 999999999 on {socket.gethostname()}\n")
    assert "Stopped without a note" in page()
    with writing_to(folder, "a run"):
        assert "This page follows the run." in page()
        with RunStore(folder / "run.sqlite") as store:
            store.event(1, "stopped", "Stopped after update 1: <b>no room</b>")
        assert "This page follows the run." not in page()
        assert "Stopped after update 1: &lt;b&gt;no room&lt;/b&gt;" in page()
        with RunStore(folder / "run.sqlite") as store:
            store.event(1, "resumed", "resumed from update-000001")
        assert "This page follows the run." in page()
    with RunStore(folder / "run.sqlite") as store:
        store.event(2, "finished", "Finished after update 2")
    assert "Finished after update 2" in page()
