"""Every environment that stands in `envs/` keeps every law; a new one is covered without editing this file.

Of environments that wait for other processes, such as a browser, a share of the episodes is played by default, and all
of them where slow tests are asked for.
"""

from __future__ import annotations

from functools import cache

import pytest

from cairn.core.errors import MissingDataError, MissingExtraError, MissingProgramError
from cairn.core.plugins import ENVS
from cairn.envs import registry
from cairn.envs.checker import LAWS, check_law
from cairn.envs.laws.subject import Subject

SHARE = 1 / 16  # of the episodes with environments that wait


@cache
def subject(env_id: str, share: float) -> Subject:
    return Subject(env_id, share=share)


def check(env_id: str, law: str, share: float) -> None:
    try:
        report = check_law(law, subject(env_id, share))
    except (MissingDataError, MissingExtraError, MissingProgramError) as error:
        pytest.skip(str(error))
    assert report.holds, report.detail


def waits(env_id: str) -> bool:
    return registry.load(env_id).meta.waits


@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize("env_id", ENVS.ids())
def test_environment_keeps(env_id: str, law: str) -> None:
    check(env_id, law, SHARE if waits(env_id) else 1.0)


@pytest.mark.slow
@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize("env_id", [env_id for env_id in ENVS.ids() if waits(env_id)])
def test_environment_that_waits_keeps_in_all_episodes(env_id: str, law: str) -> None:
    check(env_id, law, 1.0)
