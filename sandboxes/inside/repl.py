"""A Python interpreter that keeps its state and runs cells from file descriptor 3.

One JSON object per line. Input: {"source": text}. Output: {"done": error or null}, where error is "Name: text", or
{"call": name, "arguments": {...}}, to which {"value": ...} or {"error": text} is the reply. The value of a cell's last
line is printed, as at Python's own prompt. Messages that a cell itself writes to descriptor 3 can deceive only its
author.
"""

import ast
import json
import linecache
import os
import signal
import sys
import traceback

_FRAME = "<cell "


class CallError(Exception):
    """The host's error in reply to a call."""


def receive():
    """Return the host's next message; the interpreter ends with the host."""
    while True:
        try:
            line = _reader.readline()
        except KeyboardInterrupt:
            continue  # it was meant for a cell that has ended
        if not line:
            os._exit(0)
        return json.loads(line)


def send(message):
    """Send a message to the host."""
    data = json.dumps(message).encode() + b"\n"
    while data:
        data = data[os.write(3, data) :]


def call(name, arguments):
    """Call a function of the host and return its result."""
    sys.stdout.flush()
    send({"call": name, "arguments": arguments})
    reply = receive()
    if "error" in reply:
        raise CallError(reply["error"])
    return reply["value"]


def carry_out(source, number, names):
    """Run a cell; return its error, or None."""
    file = f"{_FRAME}{number}>"
    linecache.cache[file] = (len(source), None, source.splitlines(keepends=True), file)
    try:
        tree = ast.parse(source, file)
        last = [tree.body.pop()] if tree.body and isinstance(tree.body[-1], ast.Expr) else []
        exec(compile(tree, file, "exec"), names)
        exec(compile(ast.Interactive(last), file, "single"), names)
    except BaseException as error:  # a cell may raise anything; the interpreter continues
        frames = error.__traceback__
        while frames is not None and not frames.tb_frame.f_code.co_filename.startswith(_FRAME):
            frames = frames.tb_next
        traceback.print_exception(type(error), error, frames)
        return f"{type(error).__name__}: {error}"
    return None


def serve():
    """Run cells until the host is gone."""
    names = {"__name__": "__main__", "__builtins__": __builtins__, "_cairn_call": call, "_cairn_error": CallError}
    number = 0
    while True:
        source = receive()["source"]
        number += 1
        error = carry_out(source, number, names)
        for stream in (sys.stdout, sys.stderr):
            try:
                stream.flush()
            except Exception:  # the cell may have replaced the stream
                pass
        send({"done": None if error is None else error[:2000]})


_reader = os.fdopen(os.dup(3), "rb")
signal.signal(signal.SIGINT, signal.default_int_handler)
serve()
