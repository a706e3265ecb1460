"""Reading item by item against reading at once, at every chunk size, and damaged files."""

from __future__ import annotations

import gzip
import json
import zlib
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cairn.core.errors import CairnError
from cairn.envs.webshop import json_reader
from cairn.envs.webshop.json_reader import items, pairs

VALUES: list[Any] = [  # Any: JSON
    0, -1, 1.5, -0.25, 1e5, 2.5e-3, 12345678901234567890, True, False, None, "", [], {},
    'a "quoted" \\ \n line', "\u2019\u00e9\U0001f44d\u6f22", {"a": [1, {"b": [1.5, -2e10]}], "": "]},:"},
    [[[]], [1.25]],
]  # fmt: skip
TEXTS = {
    "escaped": json.dumps(VALUES),
    "plain": json.dumps(VALUES, ensure_ascii=False, separators=(",", ":")),
    "laid out": f"\n\t {json.dumps(VALUES, indent=2)} \r\n\n",
    "exponents": "[1E5,1e+5,1e-5 ,-1.5e+10\n,0.1]",
}


def write(folder: Path, text: str, name: str = "x.json") -> Path:
    path = folder / name
    path.write_bytes(gzip.compress(text.encode()) if name.endswith(".gz") else text.encode())
    return path


@pytest.mark.parametrize("chunk", range(1, 8))
@pytest.mark.parametrize("name", ["x.json", "x.json.gz"])
@pytest.mark.parametrize("text", TEXTS.values(), ids=TEXTS)
def test_items_are_the_same_however_little_is_read_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str, name: str, chunk: int
) -> None:
    monkeypatch.setattr(json_reader, "_CHUNK", chunk)
    assert list(items(write(tmp_path, text, name))) == json.loads(text)
    named = {f"n{place}": value for place, value in enumerate(json.loads(text))}
    assert list(pairs(write(tmp_path, json.dumps(named, indent=1), name))) == list(named.items())


_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=8,
)


@given(values=st.lists(_JSON, max_size=4), chunk=st.integers(1, 9), indent=st.sampled_from([None, 0, 1]))
@settings(max_examples=50, deadline=None)
def test_any_array_is_read_as_the_standard_library_reads_it(
    tmp_path_factory: pytest.TempPathFactory, values: list[Any], chunk: int, indent: int | None
) -> None:
    path = write(tmp_path_factory.mktemp("json"), json.dumps(values, indent=indent))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(json_reader, "_CHUNK", chunk)
        assert list(items(path)) == values


@pytest.mark.parametrize(
    ("text", "line", "what"),
    [
        ("", 1, "it ends where '[' was expected"),
        ("\n\n  {}", 3, "expected '[', got '{}'"),
        ("\ufeff[]", 1, "expected '['"),
        ("[", 1, "cut short"),
        ("[1, 2", 1, "it ends where ',' was expected"),
        ("[1,\n2\n,\n", 4, "cut short"),
        ('[1,\n{"a": 1,\n"b": "c', 2, "cut short"),
        ('["\n"]', 1, "Invalid control character"),
        ("[1 2]", 1, "expected ',', got '2]'"),
        ("[1,\n tru, 2]", 2, "malformed"),
        ("[1,]", 1, "malformed"),
        ('[{"a":\n1},\nx]', 3, "malformed"),
        ("[1]]", 1, "expected the end, got ']'"),
        ("[1]\n[2]", 2, "expected the end, got '[2]'"),
        ("[1]\x00", 1, "expected the end"),
        ("[1,\n" + "[" * 100_000, 2, "nested too deeply"),
        ("[\n" + "1" * 5000 + "]", 2, "4300 digits"),
    ],
)
@pytest.mark.parametrize("chunk", [2, 1 << 20])
def test_a_damaged_array_is_refused_by_file_and_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str, line: int, what: str, chunk: int
) -> None:
    monkeypatch.setattr(json_reader, "_CHUNK", chunk)
    path = write(tmp_path, text)
    with pytest.raises(CairnError) as refused:
        list(items(path))
    assert str(refused.value).startswith(f"{str(path)!r}, line {line}: ")
    assert what in str(refused.value)


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("[]", "expected '{', got '[]'"),
        ("{1: 2}", "expected a name, got 1"),
        ('{"a" 1}', "expected ':', got '1}'"),
        ('{"a": 1 "b": 2}', "expected ','"),
        ('{"a": 1,}', "malformed"),
        ('{"a": 1', "it ends where ','"),
        ('{"a":', "cut short"),
        ("{} {}", "expected the end"),
    ],
)
def test_a_damaged_object_is_refused(tmp_path: Path, text: str, what: str) -> None:
    with pytest.raises(CairnError, match="line 1: ") as refused:
        list(pairs(write(tmp_path, text)))
    assert what in str(refused.value)


def test_items_before_the_damage_are_returned(tmp_path: Path) -> None:
    scan = items(write(tmp_path, '[{"a": 1},\n2,\n{"b": '))
    assert [next(scan), next(scan)] == [{"a": 1}, 2]
    with pytest.raises(CairnError, match="line 3"):
        next(scan)


def test_an_item_that_is_too_long_is_refused_before_all_of_it_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(json_reader, "MAX_ITEM", 1000)
    monkeypatch.setattr(json_reader, "_CHUNK", 100)
    fitting = ["x" * 900] * 5
    assert list(items(write(tmp_path, json.dumps(fitting)))) == fitting
    path = write(tmp_path, json.dumps(["first", "x" * 10_000]))
    scan = items(path)
    assert next(scan) == "first"
    with pytest.raises(CairnError, match="line 1: one item is longer than 1000 characters"):
        next(scan)


@pytest.mark.parametrize("fault", ["cut", "header", "checksum", "body", "empty", "plain text"])
def test_a_damaged_gzip_file_is_refused(tmp_path: Path, fault: str) -> None:
    whole = gzip.compress(json.dumps(list(range(5000))).encode())
    at = len(whole) // 2
    damaged = {
        "cut": whole[:-20],
        "header": b"\x1f\x8b\x09" + whole[3:],
        "checksum": whole[:-8] + bytes(8),
        "body": whole[:at] + bytes([whole[at] ^ 0xFF]) * 40 + whole[at + 40 :],
        "empty": b"",
        "plain text": b"[1, 2]",
    }
    path = tmp_path / "x.json.gz"
    path.write_bytes(damaged[fault])
    with pytest.raises(CairnError, match=r"x\.json\.gz', line 1: "):
        list(items(path))


def test_an_invalid_deflate_stream_is_rejected(tmp_path: Path) -> None:
    path = tmp_path / "x.json.gz"
    path.write_bytes(gzip.compress(b"")[:10] + b"\xff" * 30)
    with pytest.raises(zlib.error), gzip.open(path) as file:  # which is neither an OSError nor an EOFError
        file.read()
    with pytest.raises(CairnError, match="cannot be read"):
        list(items(path))


def test_invalid_utf_8_is_rejected(tmp_path: Path) -> None:
    path = tmp_path / "x.json"
    path.write_bytes(b'["caf\xe9"]')
    with pytest.raises(CairnError, match="cannot be read: 'utf-8' codec can't decode"):
        list(items(path))


def test_lone_surrogates_in_escapes_are_read(tmp_path: Path) -> None:
    assert list(items(write(tmp_path, r'["\ud800", "\ud83d\ude00"]'))) == ["\ud800", "\U0001f600"]
