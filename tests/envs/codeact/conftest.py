"""An environment whose actions are programs, built once for each module and reset for each test."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from cairn.envs.codeact.env import CodeActEnv
from tests.envs.codeact.test_codeact import program_env


@pytest.fixture(scope="module")
def shared() -> Iterator[CodeActEnv]:
    with program_env() as env:
        yield env


@pytest.fixture
def env(shared: CodeActEnv) -> CodeActEnv:
    shared.reset(seed=0, options={"task": "a"})
    return shared
