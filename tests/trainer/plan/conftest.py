"""Fixtures of the plan's tests."""

from __future__ import annotations

import pytest

from tests.trainer.plan.known import write_models


@pytest.fixture(scope="package")
def folders(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Return folders that hold the models' configurations, without weights."""
    return write_models(tmp_path_factory.mktemp("models"))
