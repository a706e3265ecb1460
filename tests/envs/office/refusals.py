"""How tests say that a call is refused and changes nothing."""

from __future__ import annotations

import pytest

from cairn.envs.office.calls import OfficeError
from cairn.envs.office.world import World


def refused(world: World, app: str, name: str, expected: str, /, **arguments: object) -> None:
    """Check that a call fails with a text that contains `expected`, is logged, and leaves the world as it was."""
    state = world.state()
    with pytest.raises(OfficeError) as raised:
        world.call(app, name, arguments)
    assert expected in str(raised.value)
    assert world.state() == state
    assert (world.log[-1].app, world.log[-1].name, world.log[-1].ok) == (app, name, False)


def ids(result: object) -> list[str]:
    """Return the ids on a page of results."""
    assert isinstance(result, dict)
    return [item["id"] for item in result["items"]]
