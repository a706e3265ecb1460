"""The process of the tests: runs them against code in another sandbox, which never receives an expected value.

Proxies represent objects of that code: `Remote` for instances, `RemoteClass` for classes, an import hook for modules.
A proxy forwards calls, attributes, items and iteration, which carry inputs of the tests. It has no comparison and no
arithmetic: those would carry expected values. Every answer is rebuilt from plain data as a value of an exact builtin
type, so comparisons happen in this process. The interpreter runs this source as its prelude, then `run_tests`.
"""

import ast
import importlib.abc
import importlib.machinery
import json
import re
import sys
import types
import unittest

_ask_host, _host_error = _cairn_call, _cairn_error
_exceptions = {}
_named_only = []  # not empty: tests call the classes and functions that `Job.names` lists, and no answers
_told = {}  # (module, name) -> JSON: what came with an import, and holds until the other side does something else
_seen = []  # lists, dictionaries and sets that were read from attributes: (object, name, value, its JSON)
_MOST_SEEN = 32
_ANSWER_TYPES = {"len": int, "bool": bool, "str": str, "repr": str, "isinstance": bool, "contains": bool}
_CLOCK = re.compile(r"\b(now|today|time|localtime|strftime)\(")


class CodeEnded(BaseException):  # no test catches it by `except Exception` or `assertRaises`
    """The tested code took too long, ended its process or exceeded a limit on its answers."""


class BrokenTests(BaseException):
    """What comes before the tests failed: no fault of the tested code."""


def ask(do, *of, **by):
    """Have the other side do something and return what it says."""
    _write_back()
    if do != "get":
        _told.clear()
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
        _told.update({(of[0], name): data for name, data in _part(reply, "names", dict).items()})
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
        raise CodeEnded(f"malformed answer: {name!r} is no {kind.__name__}")
    return found


def _write_back():
    """Tests change lists and dictionaries that they read from an object: it gets them before it does anything."""
    for place, (of, name, value, before) in enumerate(_seen):
        if (now := encode(value, refer)) != before:
            _seen[place] = (of, name, value, now)
            _asked("set", (of, name, value), {})


def _become(given, now):
    """The other side has changed a list, dictionary or set that it was given."""
    if isinstance(given, list) and isinstance(now, list):
        given[:] = now
    elif isinstance(given, (dict, set)) and isinstance(now, type(given)):
        given.clear()
        given.update(now)


def refer(thing):
    """Return what stands for something of the other side."""
    if isinstance(thing, Remote):
        return {"ref": _number(thing)}
    if isinstance(thing, type) and hasattr(thing, "_remote_number"):
        return {"ref": thing._remote_number}
    raise TypeError(f"{type(thing).__name__} cannot be given to code in another process")


def resolve(data):
    """Return the proxy of an object of the other side."""
    if type(data.get("ref", data.get("class"))) is not int:
        raise ValueError("an object without a number")
    return _class(data) if "class" in data else Remote(data["ref"])


def _class(data):
    if data["bases"]:
        return _exception_class(data)
    return RemoteClass(data["name"], (Remote,), {"_remote_number": data["class"]})


def _exception_class(data):
    """Return a class to catch exceptions by, below those of its bases; the same one after each start."""
    key = (data["module"], data["name"])
    if key not in _exceptions:
        bases = tuple(decode(base, resolve) for base in data["bases"])
        try:
            _exceptions[key] = RemoteException(data["name"], bases, {"__getattr__": _of_error})
        except TypeError:  # builtin ones that do not go together here
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
        return CodeEnded("malformed answer: it raises an object that is no exception")
    if not issubclass(kind, Exception):  # SystemExit and the like end the code, not its tests
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
    """A class of exceptions of the other side: raised there, and caught here."""

    def __call__(cls, *arguments):
        return ask("call", Remote(cls._remote_number), *arguments)


class RemoteClass(type):
    """A class of the other side."""

    def __call__(cls, *arguments, **named):
        made = ask("call", Remote(cls._remote_number), *arguments, **named)
        return TestedObject(_number(made)) if type(made) is Remote else made

    def __getattr__(cls, name):
        return _callable(ask("get", Remote(cls._remote_number), name))

    def __instancecheck__(cls, thing):
        if not isinstance(thing, Remote):
            return False
        return ask("isinstance", thing, Remote(cls._remote_number)) is True


class Remote:
    """An object of the other side."""

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
        return isinstance(other, Remote) and _number(self) == _number(other)

    def __hash__(self):
        return hash(_number(self))


def _number(remote):
    return object.__getattribute__(remote, "_number")


def _forwarded(name):
    return lambda self, *arguments: ask(name.strip("_"), self, *arguments)


for _name in ("len", "bool", "str", "repr", "getitem", "setitem", "delitem"):
    setattr(Remote, f"__{_name}__", _forwarded(_name))


class RemoteCallable(Remote):
    """A function of a module, or a method of a class or of an object that a test constructed.

    Tests with `Job.names` call these only: some compare an answer with the result of another answer's method.
    """

    def __call__(self, *arguments, **named):
        return ask("call", self, *arguments, **named)


def _callable(value):
    return RemoteCallable(_number(value)) if type(value) is Remote else value


class TestedObject(RemoteCallable):
    """An object that a test constructed, not an answer: its methods and `in` receive inputs of the test."""

    def __getattr__(self, name):
        return _callable(ask("get", self, name))

    def __contains__(self, key):
        return ask("contains", self, key)


class RemoteModules(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Finds the modules that the other side has."""

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
            if (of, name) in _told:
                return _callable(decode(_told[of, name], resolve))
            try:
                return _callable(ask("get", other, name))
            except AttributeError:
                raise AttributeError(f"module {of!r} has no attribute {name!r}") from None

        module.__getattr__ = get
        return module

    def exec_module(self, module):
        pass


def forget_modules(names):
    """Have the next import ask again: the other side has started anew."""
    _seen.clear()
    _told.clear()
    for name in [n for n in sys.modules if n.split(".")[0] in names]:
        del sys.modules[name]


def _without_diffs():
    """Have failed assertions show no differences: computing them takes cubic time in the length of an answer."""
    unittest.case.difflib.ndiff = lambda first, second: iter(())
    unittest.case.pprint.pformat = repr


def run_tests(text):
    """Run what a JSON text describes; return [[name, error or None], ...]."""
    _without_diffs()
    job = json.loads(text)
    _named_only[:] = job["names"]
    names = set(job["modules"])
    sys.meta_path.insert(0, RemoteModules(names))
    results = []

    def anew():
        forget_modules(names)
        _ask_host("anew", {})

    times = 2 if _is_about_now(job) else 1
    try:
        for name, test in _RUNNERS[job["style"]](job, anew):
            try:
                _tried(test, times)
                results.append([name, None])
            except (BrokenTests, KeyboardInterrupt):  # the latter: the time for all tests is over
                raise
            except BaseException as error:  # whatever ends a test, that of the tested code's making too, fails it
                results.append([name, f"{type(error).__name__}: {error}"[:300]])
    except (Exception, CodeEnded, Malformed) as error:  # the code lacks names that the tests use
        results.append(["the tests could not begin", f"{type(error).__name__}: {error}"[:300]])
    return json.dumps(results)


def _is_about_now(job):
    """Whether tests read a clock, as the code does a moment later; only those that start anew can be run again."""
    return job["style"] in ("functions", "unittest") and _CLOCK.search(job["tests"]) is not None


def _tried(test, times):
    """Run a test until it passes; the second may have ended between the test's clock and the code's."""
    for left in reversed(range(times)):
        try:
            test()
            return
        except (BrokenTests, KeyboardInterrupt):
            raise
        except BaseException:
            if not left:
                raise


def _prepared(job):
    """Return the names that tests begin with; those of the submission are asked for."""
    found = {"__name__": "tests"}
    try:
        exec(compile(job["prelude"], "<given>", "exec"), found)
    except Exception as error:  # given code may raise anything
        raise BrokenTests(f"{type(error).__name__}: {error}") from error
    for name, (module, attribute) in job["names"].items():
        found[name] = getattr(importlib.import_module(module), attribute)
    return found


def _parsed(source):
    try:
        return ast.parse(source)
    except SyntaxError as error:
        raise BrokenTests(f"SyntaxError: {error}") from error


def _functions(job, anew):
    """Every function test_...() is a test, with code that has started anew."""
    tree = _parsed(job["tests"])
    for name in [node.name for node in tree.body if isinstance(node, ast.FunctionDef) and node.name.startswith("test")]:

        def test(name=name):
            anew()
            found = _prepared(job)
            exec(compile(tree, "<tests>", "exec"), found)
            found[name]()

        yield name, test


def _asserts(job, anew):
    """Every assert statement is a test, in one run of the statements; inside loops and blocks they count as one."""
    tree = _parsed(job["tests"])
    anew()
    found = _prepared(job)
    broken = []
    for number, node in enumerate(tree.body):

        def test(node=node):
            if broken:
                raise broken[0]
            exec(compile(ast.Module([node], []), "<tests>", "exec"), found)

        if any(isinstance(inner, ast.Assert) for inner in ast.walk(node)):
            yield f"assertion {number + 1}", test
        else:
            try:
                test()
            except KeyboardInterrupt:
                raise
            except BaseException as error:  # each assertion after it fails with it
                broken.append(error)


def _unittest(job, anew):
    """Every method of a TestCase is a test, with code that has started anew."""
    tree = compile(_parsed(job["tests"]), "<tests>", "exec")
    found = {"__name__": "tests"}
    anew()
    found = _prepared(job)
    exec(tree, found)
    cases = [
        c
        for c in found.values()
        if isinstance(c, type) and issubclass(c, unittest.TestCase) and c.__module__ == "tests"
    ]
    for case in cases:
        for name in unittest.TestLoader().getTestCaseNames(case):

            def test(case=case.__name__, name=name):
                anew()
                again = _prepared(job)
                exec(tree, again)
                result = unittest.TestResult()
                again[case](name).run(result)
                wrong = result.failures + result.errors
                if wrong:
                    raise AssertionError(wrong[0][1].strip().splitlines()[-1])

            yield f"{case.__name__}.{name}", test


def _reference(job, anew):
    """Every input is a test: the submission gives what the reference solution gives here, with numbers near enough."""
    anew()
    found = _prepared(job)
    for number, text in enumerate(job["inputs"]):

        def test(text=text):
            expected = found["reference"](*ast.literal_eval(text))
            given = found["candidate"](*ast.literal_eval(text))
            assert found["is_same"](given, expected), f"differs for {text[:100]}"

        yield f"input {number + 1}", test


_RUNNERS = {"functions": _functions, "asserts": _asserts, "unittest": _unittest, "reference": _reference}
