"""Every environment that stands in `envs/` keeps every law; a new one is covered without editing this file.

Of environments that wait for other processes, such as a browser, a share of the episodes is played by default, and none
where another environment is examined whose tasks these are too. Where slow tests are asked for, all are played.
"""

from __future__ import annotations

from functools import lru_cache

import pytest

from cairn.core.errors import MissingDataError, MissingExtraError, MissingProgramError
from cairn.core.plugins import ENVS
from cairn.envs import registry
from cairn.envs.checker import LAWS, check_law
from cairn.envs.laws.subject import Subject

SHARE = 1 / 16  # of the episodes with environments that wait


@lru_cache(maxsize=2)  # what is let go gives its page of a browser back
def subject(env_id: str, share: float) -> Subject:
    return Subject(env_id, share=share)


def waits(env_id: str) -> bool:
    return registry.load(env_id).meta.waits


def narrows(env_id: str) -> bool:
    """Whether an environment that waits is another one with fewer tasks."""
    others = {registry.load(other) for other in ENVS.ids()} - {registry.load(env_id)}
    return waits(env_id) and any(base in others for base in registry.load(env_id).__mro__)


def check(env_id: str, law: str, share: float) -> None:
    try:
        report = check_law(law, subject(env_id, share))
    except (MissingDataError, MissingExtraError, MissingProgramError) as error:
        pytest.skip(str(error))
    assert report.holds, report.detail


@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize("env_id", [env_id for env_id in ENVS.ids() if not narrows(env_id)])
def test_environment_keeps(env_id: str, law: str) -> None:
    check(env_id, law, SHARE if waits(env_id) else 1.0)


@pytest.mark.slow
@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize("env_id", [env_id for env_id in ENVS.ids() if waits(env_id)])
def test_environment_that_waits_keeps_in_all_episodes(env_id: str, law: str) -> None:
    check(env_id, law, 1.0)
