"""Plug-ins are found by file name, entry point or dotted path; listing imports nothing."""

from __future__ import annotations

import sys
from importlib import metadata
from pathlib import Path

import pytest

from cairn.core import plugins
from cairn.core.config import Config
from cairn.core.errors import CairnError, ConfigError, UnknownNameError
from cairn.core.plugins import POINTS, ExtensionPoint, Plugin, from_function, load_dotted


class Numbered(Config):
    number: int = 1


def times(value: int, config: Numbered) -> int:
    return value * config.number


DOTTED = Plugin(Numbered, lambda config, argument: (config.number, argument))


@pytest.fixture
def point(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ExtensionPoint:
    """A point in a package of its own, with a sound plug-in, a broken one, one without a constant, and no others."""
    package = f"plugged_{tmp_path.name}"
    folder = tmp_path / package
    folder.mkdir()
    for name, text in {
        "__init__": "",
        "_private": "",
        "base": "",
        "sound": f"from {__name__} import DOTTED as THING",
        "two_words": "THING = 2",
        "broken": "raise RuntimeError('imported')",
        "empty": "",
    }.items():
        (folder / f"{name}.py").write_text(text)
    monkeypatch.syspath_prepend(tmp_path)
    return ExtensionPoint(name="thing", package=package, constant="THING", group="cairn.things")


def test_listing_reads_names_and_imports_nothing(point: ExtensionPoint) -> None:
    assert point.ids() == ["broken", "empty", "sound", "two_words"]
    assert f"{point.package}.sound" not in sys.modules
    assert point.places()["sound"] == f"{point.package}.sound"


def test_loading_imports_one_module(point: ExtensionPoint) -> None:
    assert point.load("sound") is DOTTED
    assert f"{point.package}.two_words" not in sys.modules


def test_a_plugin_without_its_constant_is_named(point: ExtensionPoint) -> None:
    with pytest.raises(CairnError, match=r"empty must export THING"):
        point.load("empty")


def test_an_unknown_plugin_names_the_nearest_and_the_command(point: ExtensionPoint) -> None:
    with pytest.raises(UnknownNameError, match=r"Did you mean 'sound'\? List them with: cairn plugins --point thing"):
        point.load("sonud")


def test_a_dotted_path_needs_no_listing(point: ExtensionPoint) -> None:
    assert point.load(f"{__name__}:DOTTED") is DOTTED


def test_a_constant_of_another_type_is_refused(point: ExtensionPoint) -> None:
    for name in ("two_words", "cairn.core.plugins:POINTS"):
        with pytest.raises(
            CairnError, match=rf"The thing '{name}' must be a cairn.plugins.Plugin\(config, make\), got"
        ):
            point.load(name)


def test_settings_are_validated_and_passed_with_the_arguments_of_the_point(point: ExtensionPoint) -> None:
    assert point.build(f"{__name__}:DOTTED", {"number": 2}, "argument") == (2, "argument")
    with pytest.raises(ConfigError, match=r"thing '.*:DOTTED'.*did you mean 'number'"):
        point.build(f"{__name__}:DOTTED", {"numbr": 2}, "argument")
    assert Plugin(Numbered, from_function(times)).make(Numbered())(3) == 3


@pytest.mark.parametrize(
    ("path", "says"), [("no_such:X", "Cannot import"), ("cairn.core.plugins:Absent", "has no 'Absent'")]
)
def test_the_error_of_a_wrong_dotted_path_names_the_problem(path: str, says: str) -> None:
    with pytest.raises(CairnError, match=says):
        load_dotted(path)


def test_entry_points_are_listed_and_loaded(point: ExtensionPoint, monkeypatch: pytest.MonkeyPatch) -> None:
    entry = metadata.EntryPoint("outside", f"{__name__}:DOTTED", "cairn.things")
    monkeypatch.setattr(plugins, "_entry_points", lambda group: (entry,) if group == "cairn.things" else ())
    assert "outside" in point.ids()
    assert point.places()["outside"] == f"{__name__}:DOTTED"
    assert point.load("outside") is DOTTED


def test_folders_are_plugins_at_points_with_a_leaf(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("ticket_desk", "_hidden", "no_leaf"):
        (tmp_path / "worlds" / name).mkdir(parents=True)
        (tmp_path / "worlds" / name / ("other.py" if name == "no_leaf" else "env.py")).write_text("ENV = 1")
    (tmp_path / "worlds" / "__init__.py").touch()
    monkeypatch.syspath_prepend(tmp_path)
    point = ExtensionPoint(name="world", package="worlds", constant="ENV", group="cairn.worlds", leaf="env")
    assert point.places() == {"ticket-desk": "worlds.ticket_desk.env"}
    assert point.load("ticket-desk") == 1


def test_variants_of_a_folder_are_plugins_named_after_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    package = f"worlds_{tmp_path.name}"
    variants = tmp_path / package / "web_shop" / "variants"
    variants.mkdir(parents=True)
    for name in ("big_basket", "_shared", "__init__"):
        (variants / f"{name}.py").write_text(f"ENV = {name!r}")
    for folder in (variants.parent, variants.parents[1]):
        (folder / "__init__.py").touch()
    (variants.parent / "env.py").write_text("ENV = 1")
    monkeypatch.syspath_prepend(tmp_path)
    point = ExtensionPoint(name="world", package=package, constant="ENV", group="no.such", leaf="env")
    assert point.ids() == ["web-shop", "web-shop/big-basket"]
    assert point.load("web-shop/big-basket") == "big_basket"


def test_points_have_names_and_groups_of_their_own() -> None:
    assert len({point.name for point in POINTS}) == len({point.group for point in POINTS}) == len(POINTS)
