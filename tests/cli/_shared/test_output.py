"""Commands print strict JSON."""

from __future__ import annotations

import json

import pytest

from cairn.cli._shared.output import show_json


def test_numbers_that_json_lacks_are_null(capsys: pytest.CaptureFixture[str]) -> None:
    nan, inf = float("nan"), float("inf")
    show_json({"a": nan, "b": [inf, -inf, 1.5], "c": {"d": (nan, None, "NaN", True)}})
    found = json.loads(capsys.readouterr().out, parse_constant=pytest.fail)
    assert found == {"a": None, "b": [None, None, 1.5], "c": {"d": [None, None, "NaN", True]}}
