"""Runs Python source in a fork of a warm interpreter, as `python -c` would, without startup."""

from __future__ import annotations

import atexit
import contextlib
import linecache
import os
import signal
import sys
import threading
import traceback
import types

NAME = "<program>"


def run(code: str, env: dict[str, str]) -> None:
    """Run a program's source and end the process; does not return."""
    os.environ.clear()
    os.environ.update(env)
    sys.argv, sys.path[0] = [NAME], ""
    for number, (name, mode) in enumerate((("stdin", "r"), ("stdout", "w"), ("stderr", "w"))):
        errors = "backslashreplace" if name == "stderr" else "strict"
        setattr(sys, name, open(number, mode, encoding="utf-8", errors=errors, closefd=False))
    signal.signal(signal.SIGINT, signal.default_int_handler)
    main = types.ModuleType("__main__")
    sys.modules["__main__"] = main
    status = 1
    try:
        status = _carried_out(code, main)
    finally:
        with contextlib.suppress(BaseException):  # a program may have broken its own shutdown
            threading._shutdown()  # type: ignore[attr-defined]  # what Python itself calls at its end
            atexit._run_exitfuncs()
        with contextlib.suppress(BaseException):
            sys.stdout.flush()
            sys.stderr.flush()
        os._exit(status)


def _carried_out(code: str, main: types.ModuleType) -> int:
    """Run the source, and return its exit status as Python would."""
    linecache.cache[NAME] = (len(code), None, code.splitlines(keepends=True), NAME)
    try:
        exec(compile(code, NAME, "exec"), main.__dict__)
    except SystemExit as end:
        if end.code is None or isinstance(end.code, int):
            return (end.code or 0) & 0xFF
        print(end.code, file=sys.stderr)
        return 1
    except BaseException as error:  # as Python does with uncaught exceptions
        show(error)
        return 1
    return 0


def show(error: BaseException) -> None:
    """Print a traceback that begins in the program."""
    frames = error.__traceback__
    while frames is not None and frames.tb_frame.f_code.co_filename != NAME and frames.tb_next is not None:
        frames = frames.tb_next
    traceback.print_exception(type(error), error, frames)
