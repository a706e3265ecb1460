"""Invalid replies in a row end an episode where an agent has a limit for them."""

from __future__ import annotations

from typing import Any

import pytest

from cairn.agents.agent import policy_interface
from cairn.agents.backend import text_reply
from cairn.agents.config import AgentConfig
from cairn.agents.rollout.episode import EpisodeRunner, Job
from cairn.core.config import build
from cairn.core.errors import ConfigError
from cairn.core.records import Ending, Observation, Task

VALID, INVALID = "Thought: I go.\nAction: go", "I go."


def ending(limit: int | None, *replies: str, success: bool = False) -> tuple[int, Ending | None]:
    """Play replies until the episode ends; return how many turns that took, and the ending."""
    settings = {
        "constrain": False,
        "invalid_limit": limit,
        "context": {"method": "messages", "messages": {"format": "react"}},
    }
    interface = policy_interface(build(AgentConfig, settings, "agent"), None)
    runner = EpisodeRunner.of(Job(task=Task(env_id="x", task_id="t"), group_id=0, sample_seed=0), interface)
    runner.build_prompt(Observation(text="A hall.", anchor=0))
    info: dict[str, Any] = {"anchor": 0, "admissible_actions": None, "score": float(success), "success": success}
    for number, reply in enumerate(replies, start=1):
        runner.on_reply(text_reply(reply, "end", 0))
        ended = runner.on_step(("A hall.", 0.0, success, False, info), 0.0)
        if ended is not None:
            episode = runner.ended(ended)
            assert (len(episode.turns), episode.score, episode.success) == (number, float(success), success)
            return number, ended
    return len(replies), None


def test_replies_in_a_row_count() -> None:
    too_many = Ending.truncated("invalid")
    assert ending(2, INVALID, INVALID, VALID) == (2, too_many)
    assert ending(2, INVALID, VALID, INVALID, VALID) == (4, None)
    assert ending(2, INVALID, VALID, INVALID, INVALID) == (4, too_many)
    assert ending(1, VALID, INVALID) == (2, too_many)
    assert ending(3, VALID, VALID, VALID, VALID) == (4, None)


def test_the_default_is_unlimited() -> None:
    assert AgentConfig().invalid_limit is None
    assert ending(None, *[INVALID] * 50) == (50, None)


def test_an_episode_that_the_environment_ends_is_terminated_at_the_limit_too() -> None:
    assert ending(1, INVALID, success=True) == (1, Ending.terminated())


def test_a_limit_of_zero_is_refused() -> None:
    with pytest.raises(ConfigError, match=r"invalid_limit.*greater than or equal to 1"):
        build(AgentConfig, {"invalid_limit": 0}, "agent")
