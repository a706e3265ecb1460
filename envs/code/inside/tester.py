"""The process of the tests: runs them against code in another sandbox.

The other sandbox never receives an expected value. The interpreter runs the sources of `values`, `proxies` and this
module as its prelude, then `run_tests` in a cell.
"""

import ast
import importlib
import json
import re
import sys
import unittest

_CLOCK = re.compile(r"\b(now|today|time|localtime|strftime)\(")


class BrokenTests(BaseException):
    """The code before the tests failed; the tested code is not at fault."""


def _without_diffs():
    """Turn off diffs in failed assertions: they take cubic time in the length of an answer."""
    unittest.case.difflib.ndiff = lambda first, second: iter(())
    unittest.case.pprint.pformat = repr


def run_tests(text):
    """Run the hidden tests of a JSON text and return [[name, error or None], ...] as JSON."""
    _without_diffs()
    job = json.loads(text)
    _named_only[:] = job["names"]
    names = set(job["modules"])
    sys.meta_path.insert(0, RemoteModules(names))
    results = []

    def anew():
        forget_modules(names)
        _ask_host("restart", {})

    times = 2 if _is_about_now(job) else 1
    try:
        for name, test in _RUNNERS[job["style"]](job, anew):
            try:
                _tried(test, times)
                results.append([name, None])
            except (BrokenTests, KeyboardInterrupt):  # KeyboardInterrupt: the time for all tests is over
                raise
            except BaseException as error:  # any exception fails the test, also one of the tested code's classes
                results.append([name, f"{type(error).__name__}: {error}"[:300]])
    except (Exception, CodeEnded, Malformed) as error:  # the code lacks names that the tests use
        results.append(["the tests could not begin", f"{type(error).__name__}: {error}"[:300]])
    return json.dumps(results)


def _is_about_now(job):
    """Return whether tests read a clock and can run twice: each must start its own process."""
    return job["style"] in ("functions", "unittest") and _CLOCK.search(job["tests"]) is not None


def _tried(test, times):
    """Run a test up to `times` times: a second may end between the test's clock and the code's."""
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
    """Return the tests' initial names: those of the prelude, and proxies of the submission's."""
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
    """Yield every function test_...() as a test; each starts a fresh process of the tested code."""
    tree = _parsed(job["tests"])
    for name in [node.name for node in tree.body if isinstance(node, ast.FunctionDef) and node.name.startswith("test")]:

        def test(name=name):
            anew()
            found = _prepared(job)
            exec(compile(tree, "<tests>", "exec"), found)
            found[name]()

        yield name, test


def _asserts(job, anew):
    """Yield every statement with an assertion as a test; all statements run once, in order."""
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
            except BaseException as error:  # fails every later assertion
                broken.append(error)


def _unittest(job, anew):
    """Yield every method of a TestCase as a test; each starts a fresh process of the code."""
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
    """Yield every input as a test: submission and reference must agree, within tolerance."""
    anew()
    found = _prepared(job)
    for number, text in enumerate(job["inputs"]):

        def test(text=text):
            expected = found["reference"](*ast.literal_eval(text))
            given = found["candidate"](*ast.literal_eval(text))
            assert found["is_same"](given, expected), f"differs for {text[:100]}"

        yield f"input {number + 1}", test


_RUNNERS = {"functions": _functions, "asserts": _asserts, "unittest": _unittest, "reference": _reference}
