"""Runs the command line in a fork of the test process, which has imported torch already and so saves seconds."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import traceback
from pathlib import Path

from cairn.cli.main import app


def cairn(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run `cairn ARGUMENTS` in a folder, which is on the module path as it is for `python -m`; return how it ended."""
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        sys.stdout.flush()
        sys.stderr.flush()
        if (pid := os.fork()) == 0:
            os._exit(_run(folder, arguments, out.fileno(), err.fileno()))
        _, status = os.waitpid(pid, 0)
        texts = []
        for file in (out, err):
            file.seek(0)
            texts.append(file.read().decode())
    return subprocess.CompletedProcess(["cairn", *arguments], os.waitstatus_to_exitcode(status), *texts)


def _run(folder: Path, arguments: tuple[str, ...], out: int, err: int) -> int:
    try:
        os.dup2(out, 1)
        os.dup2(err, 2)
        sys.stdout, sys.stderr = (os.fdopen(fd, "w", closefd=False, encoding="utf-8") for fd in (1, 2))
        os.chdir(folder)
        sys.path.insert(0, "")
        sys.argv = ["cairn", *arguments]
        code: object = app(list(arguments))
    except SystemExit as ending:
        code = ending.code
    except BaseException:  # noqa: BLE001  (the fork must not continue as a second test run)
        traceback.print_exc()
        code = 1
    sys.stdout.flush()
    sys.stderr.flush()
    return code if isinstance(code, int) else int(code is not None)
