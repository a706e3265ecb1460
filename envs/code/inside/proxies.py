"""Proxies of the tested code's objects in the process of the tests.

`RemoteObject` represents instances, `RemoteClass` classes, `RemoteModules` (an import hook) modules. A proxy forwards
calls, attributes, items and iteration, which carry inputs of the tests. It forwards no comparison and no arithmetic:
those would carry expected values. Every answer is rebuilt from plain data as a value of an exact builtin type, so
comparisons happen in this process. The source of `values` precedes this one.
"""

import importlib.abc
import importlib.machinery
import sys
import types

_ask_host, _host_error = _cairn_call, _cairn_error
_exceptions = {}
_named_only = []  # not empty: tests call only the classes and functions in `HiddenTests.names`, and no answers
_imported_names = {}  # (module, name) -> JSON that came with an import; valid until the tested code runs again
_seen = []  # lists, dictionaries and sets that were read from attributes: (object, name, value, its JSON)
_MOST_SEEN = 32
_ANSWER_TYPES = {"len": int, "bool": bool, "str": str, "repr": str, "isinstance": bool, "contains": bool}


class CodeEnded(BaseException):  # no test catches it by `except Exception` or `assertRaises`
    """The tested code took too long, ended its process or exceeded a limit on its answers."""


def ask(do, *of, **by):
    """Send a request to the tested code's process and return its answer."""
    _write_back()
    if do != "get":
        _imported_names.clear()
    return _asked(do, of, by)


def _asked(do, of, by):
    request = {"do": do, "of": [encode(item, refer) for item in of], "by": {k: encode(v, refer) for k, v in by.items()}}
    try:
        reply = _ask_host("ask", request)
    except _host_error as error:
        raise CodeEnded(str(error)) from None
    if "raised" in reply:
        raise _exception(reply)
    if do == "import":
        _imported_names.update({(of[0], name): data for name, data in _part(reply, "names", dict).items()})
    for given, now in zip(of, _part(reply, "changed", list)):
        if now is not None:
            _become(given, decode(now, resolve))
    value = decode(reply.get("value"), resolve)
    if type(value) is not _ANSWER_TYPES.get(do, type(value)):
        raise CodeEnded(f"malformed answer: {do}() is not of type {_ANSWER_TYPES[do].__name__}")
    if do == "get" and isinstance(value, (list, dict, set)):
        _seen[:] = [(of[0], of[1], value, reply["value"]), *_seen[: _MOST_SEEN - 1]]
    return value


def _part(reply, name, kind):
    """Return a part of a reply, which may be missing."""
    found = reply.get(name, kind())
    if not isinstance(found, kind):
        raise CodeEnded(f"malformed answer: {name!r} is not a {kind.__name__}")
    return found


def _write_back():
    """Send lists, dictionaries and sets that the test changed back to their objects."""
    for place, (of, name, value, before) in enumerate(_seen):
        if (now := encode(value, refer)) != before:
            _seen[place] = (of, name, value, now)
            _asked("set", (of, name, value), {})


def _become(given, now):
    """Copy the tested code's changes into a list, dictionary or set that was an argument."""
    if isinstance(given, list) and isinstance(now, list):
        given[:] = now
    elif isinstance(given, (dict, set)) and isinstance(now, type(given)):
        given.clear()
        given.update(now)


def refer(thing):
    """Return the JSON reference of a proxy's object.

    Raises:
        TypeError: the object is not a proxy.
    """
    if isinstance(thing, RemoteObject):
        return {"ref": _number(thing)}
    if isinstance(thing, type) and hasattr(thing, "_remote_number"):
        return {"ref": thing._remote_number}
    raise TypeError(f"{type(thing).__name__} cannot be given to code in another process")


def resolve(data):
    """Return the proxy of an object in the tested code's process."""
    if type(data.get("ref", data.get("class"))) is not int:
        raise ValueError("an object without a number")
    return _class(data) if "class" in data else RemoteObject(data["ref"])


def _class(data):
    if data["bases"]:
        return _exception_class(data)
    return RemoteClass(data["name"], (RemoteObject,), {"_remote_number": data["class"]})


def _exception_class(data):
    """Return a local class for a remote exception class; it stays the same after a restart."""
    key = (data["module"], data["name"])
    if key not in _exceptions:
        bases = tuple(decode(base, resolve) for base in data["bases"])
        try:
            _exceptions[key] = RemoteException(data["name"], bases, {"__getattr__": _of_error})
        except TypeError:  # builtin bases that cannot be combined here
            _exceptions[key] = RemoteException(data["name"], bases[:1], {"__getattr__": _of_error})
    _exceptions[key]._remote_number = data["class"]
    return _exceptions[key]


def _of_error(self, name):
    if name.startswith("__") or "_remote" not in self.__dict__:
        raise AttributeError(name)
    return ask("get", self.__dict__["_remote"], name)


def _exception(reply):
    kind, text = decode(reply["raised"], resolve), str(reply.get("text", ""))
    if not isinstance(kind, type) or not issubclass(kind, BaseException):
        return CodeEnded("malformed answer: it raises an object, not an exception")
    if not issubclass(kind, Exception):  # SystemExit and the like end the tested code, not the tests
        return CodeEnded(f"{kind.__name__}: {text}")
    arguments = decode(_part(reply, "args", list), resolve) or ([text] if text else [])
    try:
        error = kind.__new__(kind)
    except TypeError as refused:  # a group of exceptions needs its members
        return CodeEnded(f"{kind.__name__}: {text} ({refused})")
    error.args = tuple(arguments)
    error.__dict__["_remote"] = decode(reply.get("error"), resolve)
    return error


class RemoteException(type):
    """An exception class of the tested code: raised there, and caught here."""

    def __call__(cls, *arguments):
        return ask("call", RemoteObject(cls._remote_number), *arguments)


class RemoteClass(type):
    """A class of the tested code."""

    def __call__(cls, *arguments, **named):
        made = ask("call", RemoteObject(cls._remote_number), *arguments, **named)
        return TestedObject(_number(made)) if type(made) is RemoteObject else made

    def __getattr__(cls, name):
        return _callable(ask("get", RemoteObject(cls._remote_number), name))

    def __instancecheck__(cls, thing):
        if not isinstance(thing, RemoteObject):
            return False
        return ask("isinstance", thing, RemoteObject(cls._remote_number)) is True


class RemoteObject:
    """An object in the tested code's process."""

    def __init__(self, number):
        object.__setattr__(self, "_number", number)

    def __getattr__(self, name):
        return ask("get", self, name)

    def __setattr__(self, name, value):
        ask("set", self, name, value)

    def __call__(self, *arguments, **named):
        if _named_only:
            raise TypeError("the answer is not plain data, and an answer is not called here")
        return ask("call", self, *arguments, **named)

    def __iter__(self):
        other = ask("iter", self)
        while True:
            try:
                yield ask("next", other)
            except StopIteration:
                return

    def __next__(self):
        return ask("next", self)

    def __eq__(self, other):
        return isinstance(other, RemoteObject) and _number(self) == _number(other)

    def __hash__(self):
        return hash(_number(self))


def _number(remote):
    return object.__getattribute__(remote, "_number")


def _forwarded(name):
    return lambda self, *arguments: ask(name.strip("_"), self, *arguments)


for _name in ("len", "bool", "str", "repr", "getitem", "setitem", "delitem"):
    setattr(RemoteObject, f"__{_name}__", _forwarded(_name))


class RemoteCallable(RemoteObject):
    """A function of a module, or a method of a class or of an object that a test constructed.

    Tests with `HiddenTests.names` call only these, because some tests compare an answer with the result of another
    answer's method.
    """

    def __call__(self, *arguments, **named):
        return ask("call", self, *arguments, **named)


def _callable(value):
    return RemoteCallable(_number(value)) if type(value) is RemoteObject else value


class TestedObject(RemoteCallable):
    """An object that a test constructed: its methods and `in` receive inputs of the test."""

    def __getattr__(self, name):
        return _callable(ask("get", self, name))

    def __contains__(self, key):
        return ask("contains", self, key)


class RemoteModules(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """An import hook that finds the submission's modules in the tested code's process."""

    def __init__(self, names):
        self.names = set(names)

    def find_spec(self, name, path=None, target=None):
        if name in self.names or name.split(".")[0] in self.names:
            return importlib.machinery.ModuleSpec(name, self, is_package=True)
        return None

    def create_module(self, spec):
        module = types.ModuleType(spec.name)
        other = ask("import", spec.name)

        def get(name, other=other, of=spec.name):
            if name.startswith("__"):
                raise AttributeError(name)
            if (of, name) in _imported_names:
                return _callable(decode(_imported_names[of, name], resolve))
            try:
                return _callable(ask("get", other, name))
            except AttributeError:
                raise AttributeError(f"module {of!r} has no attribute {name!r}") from None

        module.__getattr__ = get
        return module

    def exec_module(self, module):
        pass


def forget_modules(names):
    """Forget the submission's modules and values after its process has restarted."""
    _seen.clear()
    _imported_names.clear()
    for name in [n for n in sys.modules if n.split(".")[0] in names]:
        del sys.modules[name]
