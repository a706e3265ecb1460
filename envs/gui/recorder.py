"""Records the elements of actions while a browser environment is played."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from cairn.core.records import Episode
from cairn.envs.gui.actions import GuiActionError, GuiCall, parse
from cairn.envs.gui.browsing import GuiEnv
from cairn.envs.gui.recording import Element, RecordedEpisode, TakenAction, recorded

if TYPE_CHECKING:
    from cairn.envs.gui.accessibility import View


class GuiRecorder:
    """Wraps a browser environment and plays like it."""

    def __init__(self, env: GuiEnv) -> None:
        self.env = env
        self.functions = tuple(str(tool["function"]["name"]) for tool in env.tools())
        self._taken: list[TakenAction | None] = []

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[str, dict[str, Any]]:
        """Start an episode of the environment."""
        self._taken = []
        return self.env.reset(seed=seed, options=options)

    def step(self, action: str) -> tuple[str, float, bool, bool, dict[str, Any]]:
        """Execute an action in the environment."""
        self._taken.append(self._read(action))
        return self.env.step(action)

    def oracle(self, name: str | None = None) -> str:
        """Return the named oracle's next action."""
        return self.env.oracle(name)

    def recorded(self, episode: Episode) -> RecordedEpisode | None:
        """Return the record of the last episode; None if it has no valid action.

        Raises:
            ValueError: the episode failed.
        """
        return recorded(episode, self._taken, self.env.goal, self.env.task_type(episode.task.task_id))

    def _read(self, action: str) -> TakenAction | None:
        if len(action) > self.env.meta.max_action_chars:
            return None
        call = parse(action, self.functions)
        if isinstance(call, GuiActionError) or self.env.view is None:
            return None
        return TakenAction(call=call, element=_element(self.env.view, call))


def _element(view: View, call: GuiCall) -> Element | None:
    """Return the element that a call names, or the last one in the document at the call's point."""
    given = call.arguments
    bid = given.get("bid", given.get("from_bid"))
    elements = [Element(bid=node.bid, role=node.role, name=node.name, box=node.box) for node in view.nodes if node.bid]
    if bid is not None:
        return next((each for each in elements if each.bid == bid), None)
    x, y = given.get("x", given.get("from_x")), given.get("y", given.get("from_y"))
    if x is None or y is None:
        return None
    return next((each for each in reversed(elements) if each.holds(x, y)), None)
