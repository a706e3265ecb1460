"""Every environment in `envs/` has every property; a new one is covered without editing this file.

Environments that wait for other processes, such as a browser, play a share of the episodes, and none where another
environment with the same tasks is checked. The default run checks one property of one of them, in turn, and a
rotating sixty-fourth of those of the others. The slow tests check all of them, in all episodes.
"""

from __future__ import annotations

from functools import cache, lru_cache

import pytest

from cairn.core.errors import MissingDataError, MissingExtraError, MissingProgramError
from cairn.core.plugins import ENVS
from cairn.envs import registry
from cairn.envs.checker import PROPERTIES, check_property
from cairn.envs.gui.browsing import close_browsers
from cairn.envs.properties.subject import Subject
from tests.sampling import sample, sampled_params

SHARE = 1 / 16  # of the episodes with environments that wait
REPRESENTATIVE = "gui/webshop"  # of those in a browser


@lru_cache(maxsize=1)
def subject(env_id: str, share: float) -> Subject:
    close_browsers()  # of the environment before
    return Subject(env_id, share=share)


@cache
def waits(env_id: str) -> bool:
    return registry.load(env_id).meta.is_blocking


@cache
def narrows(env_id: str) -> bool:
    """Whether an environment that waits is another one with fewer tasks."""
    others = {registry.load(other) for other in ENVS.ids()} - {registry.load(env_id)}
    return waits(env_id) and any(base in others for base in registry.load(env_id).__mro__)


def check(env_id: str, name: str, share: float) -> None:
    try:
        report = check_property(name, subject(env_id, share))
    except (MissingDataError, MissingExtraError, MissingProgramError) as error:
        pytest.skip(str(error))
    assert report.holds, report.detail


def is_costly(env_id: str, name: str) -> bool:
    """Whether an environment waits or replays long recordings of one that does, or a variant's check takes seconds."""
    return waits(env_id) or env_id.startswith("gui/") or ("/" in env_id and name in ("leaks", "other-process"))


IDS = [env_id for env_id in ENVS.ids() if not narrows(env_id)]
CHEAP = [(env_id, name) for env_id in IDS for name in PROPERTIES if not is_costly(env_id, name)]
COSTLY = [
    (env_id, name) for env_id in IDS for name in PROPERTIES if is_costly(env_id, name) and env_id != REPRESENTATIVE
]


@pytest.mark.parametrize(("env_id", "name"), CHEAP)
def test_environment_has_property(env_id: str, name: str) -> None:
    check(env_id, name, 1.0)


@pytest.mark.xdist_group("memory")
@pytest.mark.parametrize(
    ("env_id", "name"),
    [
        *sampled_params(((REPRESENTATIVE, name) for name in PROPERTIES), parts=32),
        *sampled_params(COSTLY, parts=64),
    ],
)
def test_costly_environment_has_property(env_id: str, name: str) -> None:
    check(env_id, name, SHARE if waits(env_id) else 1.0)


@pytest.mark.slow
@pytest.mark.xdist_group("memory")
@pytest.mark.parametrize(
    ("env_id", "name"),
    sample(((env_id, name) for env_id in ENVS.ids() if waits(env_id) for name in PROPERTIES), parts=32),
)
def test_blocking_environment_has_property_in_all_episodes(env_id: str, name: str) -> None:
    check(env_id, name, 1.0)
