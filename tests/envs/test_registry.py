"""Environments are found by id, by dotted path, by registration, and by Gymnasium."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import gymnasium
import pytest

import cairn
from cairn.core.errors import CairnError, ConfigError, UnknownNameError
from cairn.envs import registry
from tests.envs.faulty import Sound, WithoutVersion

PATH = "tests.envs.faulty:Sound"


@pytest.fixture(autouse=True)
def _forget(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(registry, "_registered", {})
    yield
    for env_id in ("mine", "named", "mine-other"):
        gymnasium.registry.pop(f"cairn/{env_id}", None)


def test_a_dotted_path_needs_no_registration() -> None:
    assert type(cairn.make(PATH, turn_limit=3)).__name__ == "Sound"


@pytest.mark.parametrize("target", [PATH, Sound])
def test_a_registered_environment_is_made_listed_and_known_to_gymnasium(target: str | type[Sound]) -> None:
    cairn.register("mine", target)
    assert "mine" in registry.ids()
    assert cairn.make("mine", turn_limit=3).turn_limit == 3
    env = gymnasium.make("cairn/mine", turn_limit=3, render_mode="ansi")
    assert env is env.unwrapped
    text, _ = env.reset(seed=0)
    assert env.render() == text
    assert registry.address("mine") == PATH


def test_gymnasium_registers_a_variant_under_a_name_with_one_slash() -> None:
    cairn.register("mine/other", Sound)
    assert cairn.make("mine/other").meta is Sound.meta
    assert type(gymnasium.make("cairn/mine-other").unwrapped) is Sound


def test_an_id_is_not_given_twice() -> None:
    cairn.register("mine", Sound)
    cairn.register("mine", Sound)
    with pytest.raises(CairnError, match="taken"):
        cairn.register("mine", WithoutVersion)


def test_an_unknown_id_names_the_nearest_and_the_command() -> None:
    cairn.register("named", PATH)
    with pytest.raises(UnknownNameError, match=r"Did you mean 'named'\? List them with: cairn envs list"):
        cairn.make("nmaed")


@pytest.mark.parametrize(
    ("path", "says"),
    [
        ("no_such_module:Env", "Cannot import 'no_such_module'"),
        ("tests.envs.faulty:Nothing", "has no 'Nothing'"),
        ("tests.envs.faulty:COLOURS", "must be a subclass of"),
        ("tests.envs.faulty:Nameless", "Nameless needs `meta = EnvMeta"),
    ],
)
def test_the_error_of_a_wrong_path_names_the_problem(path: str, says: str) -> None:
    with pytest.raises(CairnError, match=says):
        cairn.make(path)


def test_an_entry_that_is_neither_a_class_nor_a_path_is_rejected() -> None:
    with pytest.raises(CairnError, match="Expected PACKAGE"):
        cairn.register("mine", "tests.envs.faulty")


def test_an_unknown_setting_names_the_nearest() -> None:
    with pytest.raises(ConfigError, match="did you mean 'turn_limit'"):
        cairn.make(PATH, turn_limits=3)


PARTED = "tests.envs.faulty:Parted"


@pytest.mark.parametrize(("settings", "parts"), [({}, ("solved",)), ({"halves": True}, ("first", "second"))])
def test_declarations_may_depend_on_settings(settings: dict[str, Any], parts: tuple[str, ...]) -> None:
    assert registry.declared(PARTED, settings).parts == parts
    env = cairn.make(PARTED, **settings)
    assert (env.meta.parts, env.meta.channels) == (parts, ("said/*",))
    assert env.meta == registry.declared(PARTED, settings)


@pytest.mark.parametrize(("settings", "parts"), [({}, ("solved",)), ({"halves": True}, ("first", "second"))])
def test_wrappers_declare_as_the_environment_they_hold(settings: dict[str, Any], parts: tuple[str, ...]) -> None:
    perturbed: dict[str, Any] = {**settings, "perturb": "shuffle"}
    assert registry.declared(PARTED, perturbed).parts == cairn.make(PARTED, **perturbed).meta.parts == parts
    inner: dict[str, Any] = {"of": PARTED, "settings": settings}
    assert registry.declared("codeact", inner).parts == cairn.make("codeact", **inner).meta.parts == parts


def test_an_unknown_setting_has_no_declarations() -> None:
    with pytest.raises(ConfigError, match="did you mean 'halves'"):
        registry.declared(PARTED, {"halve": True})


def test_a_class_inside_a_function_has_no_address() -> None:
    class Local(Sound):
        pass

    cairn.register("mine", Local)
    with pytest.raises(CairnError, match="top level of an importable module"):
        registry.address("mine")


@pytest.mark.parametrize(
    "code",
    [
        "import cairn, gymnasium; gymnasium.make('cairn/{id}')",
        "import gymnasium, cairn; gymnasium.make('cairn/{id}')",
        "import gymnasium; gymnasium.make('cairn:cairn/{id}')",
        "import cairn, sys; assert 'gymnasium' not in sys.modules",
        "import cairn, gymnasium; assert type(gymnasium.__loader__).__name__ == 'SourceFileLoader'",
    ],
)
def test_gymnasium_has_the_ids_in_either_order_of_imports(code: str) -> None:
    listed = [env_id for env_id in registry.ids() if env_id == "household"]
    if "{id}" in code and not listed:
        pytest.skip("envs/ has no environment yet")
    subprocess.run([sys.executable, "-W", "error", "-c", code.replace("{id}", "household")], check=True)
