"""Configuration is strict: unknown, misspelt and out-of-range keys are rejected by name."""

from __future__ import annotations

import math
import shlex
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import Field, ValidationError

from cairn.core.config import Config, as_flag, build, merge, nest, parse_flags, read_toml
from cairn.core.errors import ConfigError


class Inner(Config):
    updates: int = Field(10, ge=1, description="How many.")
    rate: float | None = None


class Outer(Config):
    trainer: Inner = Inner()
    name: str = "x"
    other: Inner | None = None


def test_defaults_fill_missing_settings() -> None:
    assert build(Outer, {}, "test") == Outer()


@pytest.mark.parametrize(
    ("values", "says"),
    [
        ({"trainer": {"udpates": 3}}, "unknown key 'trainer.udpates'; did you mean 'updates'"),
        ({"trianer": {}}, "unknown key 'trianer'; did you mean 'trainer'"),
        ({"zzz": 1}, "unknown key 'zzz'; known keys: name, other, trainer"),
        ({"other": {"rat": 1.0}}, "unknown key 'other.rat'; did you mean 'rate'"),
        ({"trainer": {"updates": 0}}, "trainer.updates: Input should be greater than or equal to 1, got 0"),
        ({"trainer": {"updates": "many"}}, "got 'many'"),
        ({"trainer": {"rate": float("inf")}}, "trainer.rate: Input should be a finite number, got inf"),
        ({"trainer": {"rate": float("nan")}}, "trainer.rate: Input should be a finite number, got nan"),
        ({"trainer": 3}, "trainer: "),
    ],
)
def test_invalid_values_are_rejected_by_name(values: dict[str, object], says: str) -> None:
    with pytest.raises(ConfigError) as caught:
        build(Outer, values, "run.toml")
    assert str(caught.value).startswith("run.toml: ")
    assert says in str(caught.value)


def test_all_mistakes_are_reported_at_once() -> None:
    with pytest.raises(ConfigError, match=r"unknown key 'a'.*; unknown key 'b'"):
        build(Inner, {"a": 1, "b": 2}, "run.toml")


def test_a_configuration_is_frozen() -> None:
    with pytest.raises(ValidationError):
        Inner().updates = 3  # type: ignore[misc]  # the fault


@pytest.mark.parametrize(
    ("flag", "value"),
    [
        ("a=3", 3),
        ("a=3.5", 3.5),
        ("a=true", True),
        ("a=[1, 2]", [1, 2]),
        ('a="3"', "3"),
        ("a=plain text", "plain text"),
        ("a=", ""),
        ("a=x=y", "x=y"),
        ("a=2026-11-21x", "2026-11-21x"),
        (" a =3", 3),
    ],
)
def test_flags_are_read_as_toml_and_else_as_text(flag: str, value: object) -> None:
    assert parse_flags([flag]) == {"a": value}


def test_flags_nest_and_the_last_one_wins() -> None:
    assert parse_flags(["t.a=1", "t.b=2", "t.a=3"]) == {"t": {"a": 3, "b": 2}}


@pytest.mark.parametrize("flag", ["novalue", "=3", "  =3"])
def test_a_flag_without_key_or_value_is_refused(flag: str) -> None:
    with pytest.raises(ConfigError, match="KEY=VALUE"):
        parse_flags([flag])


def test_merge_goes_table_by_table_and_changes_neither() -> None:
    base = {"t": {"a": 1, "b": 2}, "x": 1}
    over = {"t": {"b": 3}, "x": {"y": 2}}
    assert merge(base, over) == {"t": {"a": 1, "b": 3}, "x": {"y": 2}}
    assert base == {"t": {"a": 1, "b": 2}, "x": 1}


def test_nest_splits_at_dots() -> None:
    assert nest({"a.b.c": 1, "a.d": 2}) == {"a": {"b": {"c": 1}, "d": 2}}


def test_toml_is_read(tmp_path: Path) -> None:
    file = tmp_path / "run.toml"
    file.write_text("[trainer]\nupdates = 3\n")
    assert read_toml(file) == {"trainer": {"updates": 3}}


@pytest.mark.parametrize("content", [b"updates = = 3", b"\xff\xfe", b"a = 1\na = 2"])
def test_a_file_that_is_not_toml_is_refused(content: bytes, tmp_path: Path) -> None:
    file = tmp_path / "run.toml"
    file.write_bytes(content)
    with pytest.raises(ConfigError, match=r"Cannot read configuration .*run\.toml"):
        read_toml(file)


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"none\.toml"):
        read_toml(tmp_path / "none.toml")


def test_a_byte_order_mark_at_the_beginning_of_a_file_is_ignored(tmp_path: Path) -> None:
    (file := tmp_path / "run.toml").write_bytes(b"\xef\xbb\xbfname = 'a'")
    assert read_toml(file) == {"name": "a"}


PLAIN = st.one_of(
    st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=12),
    st.sampled_from(["true", "3", "[1]", "'", '"', "a b", "", "$HOME", "x\ny = 3", "\x7f"]),
    st.integers(-(2**63), 2**63 - 1),
    st.floats(allow_nan=False),
    st.booleans(),
)


NESTED = st.recursive(PLAIN, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text("ab c"), inner))


@given(NESTED)
def test_a_printed_flag_is_read_as_the_same_value_after_a_shell(value: Any) -> None:  # Any: a setting
    (typed,) = shlex.split(as_flag("a.b", value))
    assert parse_flags([typed]) == {"a": {"b": value}}


def test_a_printed_flag_round_trips_nan() -> None:
    assert math.isnan(parse_flags([as_flag("a", math.nan)])["a"])
