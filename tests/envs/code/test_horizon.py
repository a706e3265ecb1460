"""Turns: a fixed number, or more after changes; percentiles of needed turns."""

from __future__ import annotations

import pytest

from cairn.envs.code.horizon import Horizon, HorizonConfig, calibrated


def test_fixed() -> None:
    horizon = Horizon(HorizonConfig(), 3)
    assert [horizon.took(changed=True) for _ in range(2)] == ["", ""]
    assert not horizon.has_ended
    assert horizon.took(changed=True) == ""
    assert horizon.has_ended


def test_notices() -> None:
    horizon = Horizon(HorizonConfig(notices=True), 3)
    said = [horizon.took(changed=False) for _ in range(3)]
    assert said == ["[2 turns are left.]", "[1 turn is left, submit now.]", "[0 turns are left.]"]


@pytest.mark.parametrize(
    ("changes", "limits"),
    [
        ("1111111", [3, 3, 5, 5, 7, 7, 7]),  # twice more by two turns each, and no third time
        ("0000", [3, 3, 3, 3]),  # nothing changed
        ("100", [3, 3, 3]),  # the change is longer ago than the window of two
        ("010", [3, 3, 5]),
        ("01000", [3, 3, 5, 5, 5]),
    ],
)
def test_dynamic(changes: str, limits: list[int]) -> None:
    config = HorizonConfig(control="dynamic", extension=2, most_extensions=2, window=2)
    horizon, found = Horizon(config, 3), []
    for change in changes:
        horizon.took(changed=change == "1")
        found.append(horizon.limit)
    assert found == limits
    assert horizon.has_ended == (len(changes) >= limits[-1])


def test_an_extension_is_reported() -> None:
    horizon = Horizon(HorizonConfig(control="dynamic", extension=4), 1)
    assert horizon.took(changed=True) == "[You get 4 more turns. 4 turns are left.]"


def test_a_limit_is_a_percentile_of_the_needed_turns() -> None:
    assert calibrated([4, 1, 3, 2]) == 4  # 3 of 4 is 75 per cent below 4; the next length that was seen
    assert calibrated(range(1, 101), 75) == 76
    assert calibrated([7]) == 7
    assert calibrated([1, 2, 3, 4, 5], 50) == 3
    with pytest.raises(ValueError, match="at least one episode"):
        calibrated([])
