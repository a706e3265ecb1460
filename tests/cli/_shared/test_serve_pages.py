"""`cairn envs serve`: a real server on a free port, and rejected environments."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from typer.testing import CliRunner

from cairn.cli.main import app

pytestmark = pytest.mark.rotating(3)

run = CliRunner()
WEBSHOP = ("envs", "serve", "webshop", "--web", "--set", "num_products=20")
START_S = 60


@contextmanager
def server(folder: Path, *more: str) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """Start the command; give the process and the first line that it prints."""
    command = [sys.executable, "-c", "from cairn.cli.main import app; app()", *WEBSHOP, *more]
    env = {**os.environ, "CAIRN_CACHE": str(folder)}
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=env) as process:
        try:
            assert process.stdout is not None
            yield process, process.stdout.readline()
        finally:
            process.kill()


def fetch(url: str, **form: str) -> tuple[str, str]:
    """Return the final address of a request, and its content."""
    data = urllib.parse.urlencode(form).encode() if form else None
    with urllib.request.urlopen(urllib.request.Request(url, data), timeout=START_S) as answer:
        return answer.url, answer.read().decode()


def test_it_serves_pages_on_loopback_alone_until_interrupted(tmp_path: Path) -> None:
    with server(tmp_path, "--json", "--task", "goal/3") as (process, line):
        url = json.loads(line)["url"]
        port = urllib.parse.urlsplit(url).port
        assert url == f"http://127.0.0.1:{port}/"
        assert 'value="goal/3"' in fetch(url)[1]
        episode, page = fetch(f"{url}episodes", task="goal/3")
        assert episode.startswith(f"{url}s/")
        assert 'name="search"' in page
        fetch(f"{episode}act", search="anything")
        assert json.loads(fetch(f"{episode}state")[1])["turn"] == 1
        with pytest.raises(OSError, match="refused"):
            socket.create_connection(("127.0.0.2", port or 0), timeout=5)
        process.send_signal(signal.SIGINT)
        rest, complaints = process.communicate(timeout=START_S)
        assert (process.returncode, rest, complaints) == (0, "", "")


def test_a_port_can_be_chosen_if_it_is_free(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with server(tmp_path, "--port", str(port)) as (process, line):
            _, complaints = process.communicate(timeout=START_S)
            assert (process.returncode, line) == (2, "")
            assert complaints.startswith(f"cairn: Cannot listen on 127.0.0.1 port {port}: Address already in use.")
    with server(tmp_path, "--port", str(port)) as (_, line):
        assert line == f"webshop is at http://127.0.0.1:{port}/ (Ctrl-C stops it)\n"


def test_an_interruption_of_the_server_exits_with_status_0(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setenv("CAIRN_CACHE", str(tmp_path))
    monkeypatch.setattr("uvicorn.Server.run", interrupted)
    assert run.invoke(app, list(WEBSHOP)).exit_code == 0


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["webshop"], "Say how to serve it"),
        (["household", "--web"], "Environment 'household' has no web pages"),
        (["tests.envs.faulty:Sound", "--web"], "no module 'web' beside 'tests.envs.faulty' has a make_app"),
        (["no-such-thing", "--web"], "Unknown environment 'no-such-thing'"),
        (["webshop", "--web", "--set", "num_products=20", "--task", "goal/x"], "There is no task 'goal/x'"),
        (["webshop", "--web", "--set", "num_products=20", "--set", "perturb=rename"], "leave out the setting perturb"),
        (["webshop", "--web", "--set", "num_product=20"], "unknown key 'num_product'"),
    ],
)
def test_an_environment_that_cannot_be_served_gives_one_line_and_status_2(
    arguments: list[str], said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CAIRN_CACHE", str(tmp_path))
    done = run.invoke(app, ["envs", "serve", *arguments])
    assert done.exit_code == 2
    assert said in done.stderr
    assert done.stderr.count("\n") == 1


def test_listing_environments_imports_no_web_server() -> None:
    code = (
        "import sys; from cairn.cli.main import app; from cairn.envs import registry; registry.load('webshop')\n"
        "print(sorted({'starlette', 'uvicorn', 'jinja2', 'anyio'} & set(sys.modules)))"
    )
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout == "[]\n"


def test_another_packages_environment_is_served_by_the_module_beside_it_or_beside_its_base(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    package = tmp_path / "shop_of_others"
    package.mkdir()
    (package / "__init__.py").touch()
    (package / "env.py").write_text("from tests.envs.faulty import Sound\nclass Env(Sound): ...\n")
    (tmp_path / "more_of_others").mkdir()
    (tmp_path / "more_of_others" / "__init__.py").write_text(
        "from shop_of_others.env import Env\nclass Mine(Env): ...\n"
    )
    (package / "web.py").write_text(
        "from cairn.core.errors import CairnError\n"
        "def make_app(env, task): raise CairnError(f'made for {type(env).__name__} and {task}')\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    for place, name in (("shop_of_others.env", "Env"), ("more_of_others", "Mine")):
        done = run.invoke(app, ["envs", "serve", f"{place}:{name}", "--web", "--task", "one"])
        assert (done.exit_code, done.stderr) == (2, f"cairn: made for {name} and one\n")
