"""Who gets a page, and with which headers."""

from __future__ import annotations

from pathlib import Path

import pytest
from starlette.testclient import TestClient

from cairn.viewer.app import make_app
from cairn.viewer.catalog import find_runs
from cairn.viewer.report import write_report
from cairn.viewer.security import COOKIE, is_loopback
from tests.viewer.stored import CONFIG, make_run

TOKEN = "a-token_of-24-characters"


@pytest.fixture
def run(tmp_path: Path) -> Path:
    return make_run(tmp_path / "house")


def client(run: Path, *, host: str = "127.0.0.1", token: str | None = None, name: str = "127.0.0.1:80") -> TestClient:
    app = make_app(find_runs([run]), host=host, token=token)
    return TestClient(app, base_url=f"http://{name}", follow_redirects=False)


@pytest.mark.parametrize("name", ["127.0.0.1:80", "localhost:6007", "LOCALHOST", "[::1]:6007", "127.0.0.1"])
def test_names_of_loopback_are_served(name: str, run: Path) -> None:
    assert client(run).get("/", headers={"Host": name}).status_code == 200


@pytest.mark.parametrize(
    "name",
    [
        "evil.example",
        "127.0.0.1.evil.example",
        "localhost.evil.example:80",
        "192.168.0.9",
        "",
        "evil.example:80@127.0.0.1",
    ],
)
def test_requests_to_other_host_names_are_rejected(name: str, run: Path) -> None:
    answer = client(run).get("/", headers={"Host": name})
    assert answer.status_code == 421
    assert "house" not in answer.text


def test_beyond_loopback_ip_addresses_are_served_and_other_host_names_are_rejected(run: Path) -> None:
    asked = client(run, host="0.0.0.0", token=TOKEN)
    assert asked.get("/", headers={"Host": "192.168.0.9:6007"}).status_code == 401
    assert asked.get("/", headers={"Host": "evil.example"}).status_code == 421


@pytest.mark.parametrize("path", ["/", "/static/style.css", "/none", "/runs/1-house/episodes/1/turns/0/reply.txt"])
def test_all_answers_have_the_headers(path: str, run: Path) -> None:
    headers = client(run).get(path).headers
    policy = headers["content-security-policy"]
    assert policy.startswith("default-src 'none'")
    assert "unsafe" not in policy
    assert "frame-ancestors 'none'" in policy
    assert headers["x-content-type-options"] == "nosniff"


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "OPTIONS"])
def test_pages_can_only_be_looked_at(method: str, run: Path) -> None:
    assert client(run).request(method, "/").status_code == 405


def test_a_token_is_asked_for_and_kept_in_a_cookie(run: Path) -> None:
    asked = client(run, token=TOKEN)
    for wrong in ("/", "/?token=", "/?token=a", f"/?token={TOKEN}x", "/static/style.css"):
        assert asked.get(wrong).status_code == 401
    first = asked.get(f"/runs/1-house/groups?token={TOKEN}&step=1")
    assert (first.status_code, first.headers["location"]) == (303, "/runs/1-house/groups?step=1")
    assert "HttpOnly" in first.headers["set-cookie"]
    assert asked.get("/").status_code == 200  # by the cookie
    asked.cookies.set(COOKIE, "another")
    fresh = client(run, token=TOKEN)
    fresh.cookies.set(COOKIE, "another")
    assert fresh.get("/").status_code == 401


@pytest.mark.parametrize("path", ["//evil.example/x", "/%5Cevil.example/x", "/%2Fevil.example/x"])
def test_the_redirect_after_a_token_stays_on_the_host(path: str, run: Path) -> None:
    answer = client(run, token=TOKEN).get(f"http://127.0.0.1{path}?token={TOKEN}")
    assert (answer.status_code, answer.headers["location"]) == (303, "/evil.example/x")


@pytest.mark.parametrize(
    ("host", "expected"),
    [
        ("127.0.0.1", True),
        ("127.9.9.9", True),
        ("::1", True),
        ("localhost", True),
        ("0.0.0.0", False),
        ("::", False),
        ("box", False),
    ],
)
def test_loopback_addresses_are_recognised(host: str, expected: bool) -> None:
    assert is_loopback(host) is expected


@pytest.mark.parametrize(
    ("site", "status"), [("cross-site", 403), ("same-site", 200), ("same-origin", 200), ("none", 200)]
)
def test_requests_of_other_sites_are_refused(site: str, status: int, run: Path) -> None:
    answer = client(run).get("/", headers={"Sec-Fetch-Site": site})
    assert answer.status_code == status
    assert ("house" in answer.text) == (status == 200)


@pytest.mark.parametrize("page", ["credit?step=1&method={}", "groups/train/1/0/graph?method={}", "credit?method={}"])
def test_an_address_imports_no_module(page: str, run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "planted.py").write_text("from pathlib import Path\nPath(__file__).with_suffix('.imported').touch()\n")
    monkeypatch.syspath_prepend(tmp_path)
    answer = client(run).get(f"/runs/1-house/{page.format('planted:CREDIT')}")
    assert answer.status_code == 200
    assert not (tmp_path / "planted.imported").exists()


def test_a_run_whose_stored_method_is_a_module_imports_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "planted.py").write_text("from pathlib import Path\nPath(__file__).with_suffix('.imported').touch()\n")
    monkeypatch.syspath_prepend(tmp_path)
    config = {**CONFIG, "credit": {"method": "planted:CREDIT"}, "env": {"id": "planted:Env", "config": {}}}
    folder = make_run(tmp_path / "house", config=config)
    for path in ("/", "/runs/1-house", "/runs/1-house/credit", "/runs/1-house/groups/train/1/0/graph"):
        assert client(folder).get(path).status_code == 200
    write_report([folder], tmp_path / "report.html")
    assert not (tmp_path / "planted.imported").exists()
