"""Every environment that stands in `envs/` keeps every law; a new one is covered without editing this file."""

from __future__ import annotations

from functools import cache

import pytest

from cairn.core.errors import MissingDataError, MissingExtraError
from cairn.core.plugins import ENVS
from cairn.envs.checker import LAWS, check_law
from cairn.envs.laws.subject import Subject


@cache
def subject(env_id: str) -> Subject:
    return Subject(env_id)


@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize("env_id", ENVS.ids())
def test_environment_keeps(env_id: str, law: str) -> None:
    try:
        report = check_law(law, subject(env_id))
    except (MissingDataError, MissingExtraError) as error:
        pytest.skip(str(error))
    assert report.holds, report.detail
