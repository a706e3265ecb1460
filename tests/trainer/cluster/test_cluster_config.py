"""Valid and invalid settings of a cluster."""

from __future__ import annotations

import pytest

from cairn.core.errors import ConfigError
from cairn.trainer.config import load_run_config


def test_by_default_no_cluster_is_used() -> None:
    assert not load_run_config({}).cluster.is_used


@pytest.mark.parametrize("part", [{"workers": 1}, {"ranks": 2}, {"writer": True}])
def test_any_setting_enables_the_cluster(part: dict[str, int]) -> None:
    assert load_run_config({"cluster": part}).cluster.is_used


def test_settings_that_would_do_nothing_are_refused() -> None:
    with pytest.raises(ConfigError, match="do nothing without workers, ranks or writer"):
        load_run_config({"cluster": {"address": "10.0.0.1:6379"}})
    with pytest.raises(ConfigError, match="do nothing without workers, ranks or writer"):
        load_run_config({"cluster": {"placement": {"worker": {"gpus": 1}}}})


def test_a_misspelt_place_is_refused() -> None:
    with pytest.raises(ConfigError, match="did you mean 'gpus'"):
        load_run_config({"cluster": {"workers": 1, "placement": {"worker": {"gpu": 1}}}})
