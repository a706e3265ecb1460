"""The process of the tested code: loads a submission and performs the tests' requests on it.

Each line on descriptor 3 is a JSON object: {"do": name, "of": [values], "by": {name: value}}. The answer is
{"value": ...} or {"raised": ...}. The submission controls this process, so its answers are untrusted. The requests
carry only inputs of the tests. No request compares values, because a comparison would carry the expected value.
"""

import importlib
import json
import operator
import os
import signal
import sys

_MOST_NAMES = 200
_kept = {}
_numbers = {}  # id of a kept object -> its number: the tests compare objects by their numbers


def refer(thing):
    """Keep an object and return its number."""
    number = _numbers.setdefault(id(thing), len(_kept))
    _kept[number] = thing
    if not isinstance(thing, type):
        return {"ref": number}
    bases = [encode(base, refer) for base in thing.__bases__ if issubclass(base, BaseException)]
    return {"class": number, "name": thing.__name__, "module": thing.__module__, "bases": bases}


def resolve(data):
    """Return the kept object of a number."""
    return _kept[data.get("ref", data.get("class"))]


def _call(of, *arguments, **named):
    return of(*arguments, **named)


_DOINGS = {
    "import": importlib.import_module, "get": getattr, "set": setattr, "call": _call, "isinstance": isinstance,
    "len": len, "iter": iter, "next": next, "bool": bool, "str": str, "repr": repr, "getitem": operator.getitem,
    "setitem": operator.setitem, "delitem": operator.delitem, "contains": operator.contains,
}  # fmt: skip


def answer(request):
    """Carry out a request and return the answer."""
    arguments = [decode(item, resolve) for item in request["of"]]
    named = {name: decode(item, resolve) for name, item in request["by"].items()}
    try:
        value = _DOINGS[request["do"]](*arguments, **named)
        if request["do"] == "import":
            return {"value": encode(value, refer), "names": _names(value)}
        changed = [encode(item, refer) if isinstance(item, (list, dict, set)) else None for item in arguments]
        return {"value": encode(value, refer), "changed": changed}
    except BaseException as error:  # the code may raise anything; the tests' process raises it again
        kind = encode(type(error), refer)
        return {"raised": kind, "error": refer(error), "text": str(error)[:2000], "args": _encoded_args(error.args)}


def _names(module):
    """Return a module's functions and classes, which tests usually request next."""
    found = {name: thing for name, thing in vars(module).items() if callable(thing) and not name.startswith("__")}
    return {name: encode(thing, refer) for name, thing in list(found.items())[:_MOST_NAMES]}


def _encoded_args(arguments):
    try:
        return encode(list(arguments), refer)
    except Exception:  # arguments that cannot be encoded; the answer still has the text
        return []


def serve():
    """Answer requests until the host closes the connection."""
    sys.path.insert(0, os.getcwd())
    sys.setrecursionlimit(10_000)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    reader = os.fdopen(os.dup(3), "rb")
    while True:
        try:
            line = reader.readline()
            if not line:
                os._exit(0)
            data = json.dumps(answer(json.loads(line))).encode() + b"\n"
        except KeyboardInterrupt:
            data = b'{"interrupted": true}\n'
        while data:
            data = data[os.write(3, data) :]
