"""`cairn view`: a real server, and rejected arguments."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import urllib.error
import urllib.request
from pathlib import Path

import pytest
from typer.testing import CliRunner

from cairn.cli.main import app
from tests.viewer.stored import make_run

runner = CliRunner()


def start(*arguments: str) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", "from cairn.cli.main import app; app()", "view", *arguments]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=dict(os.environ))


def url_of(process: subprocess.Popen[str]) -> str:
    assert process.stdout is not None
    lines = ""
    while not lines.endswith("}\n"):
        lines += process.stdout.readline() or pytest.fail("the command ended without saying where it serves")
    return str(json.loads(lines)["url"])


def test_it_serves_a_folder_of_runs_until_interrupted(tmp_path: Path) -> None:
    for name in ("a", "b"):
        make_run(tmp_path / name)
    with start(str(tmp_path), "--port", "0", "--json") as process:
        try:
            url = url_of(process)
            assert url.startswith("http://127.0.0.1:")
            page = urllib.request.urlopen(url, timeout=60).read().decode()
            assert "/runs/1-a" in page
            assert "/runs/2-b" in page
            process.send_signal(signal.SIGINT)
            assert process.wait(60) == 0
        finally:
            process.kill()


def test_a_token_keeps_others_out(tmp_path: Path) -> None:
    with start(str(make_run(tmp_path / "a")), "--port", "0", "--json", "--token", "secret-1") as process:
        try:
            url = url_of(process)
            assert url.endswith("/?token=secret-1")
            with pytest.raises(urllib.error.HTTPError, match="401"):
                urllib.request.urlopen(url.partition("?")[0], timeout=60)
            opener = urllib.request.build_opener(urllib.request.HTTPCookieProcessor())
            assert opener.open(url, timeout=60).status == 200
        finally:
            process.kill()


def test_a_folder_without_a_run_and_an_invalid_token_are_rejected(tmp_path: Path) -> None:
    nothing = runner.invoke(app, ["view", str(tmp_path)])
    assert (nothing.exit_code, "holds no run" in nothing.output) == (2, True)
    odd = runner.invoke(app, ["view", str(make_run(tmp_path / "a")), "--token", "a b"])
    assert (odd.exit_code, "letters, digits" in odd.output) == (2, True)
