"""One environment and one scripted agent: the turns, and each of the three endings."""

from __future__ import annotations

from cairn.agents.rollout.play import play
from cairn.agents.scripted import scripted
from cairn.core.records import Ending, Task
from cairn.envs.pool.pool import EnvPool
from examples.doors import Doors

TASK = Task(env_id="doors", task_id="red-0", seed=3)


def test_an_episode_that_is_solved() -> None:
    env = Doors()
    episode = play(env, TASK, scripted("oracle", env), group_id=4, origin="expert")
    assert [turn.action for turn in episode.turns] == ["take key", "open red"]
    assert [turn.reward for turn in episode.turns] == [0.0, 1.0]
    assert [turn.observation.text for turn in episode.turns] == [
        "A note says: red. There is a key and 6 doors.",
        "You have the key.",
    ]
    assert episode.turns[0].observation.admissible == ("take key", "wait")
    assert episode.turns[0].observation.anchor != episode.turns[1].observation.anchor
    assert (episode.ending, episode.score, episode.success) == (Ending.terminated(), 1.0, True)
    assert (episode.task, episode.group_id, episode.origin) == (TASK, 4, "expert")
    assert episode.final is not None
    assert episode.final.text == "The door opens."


def test_an_episode_that_is_lost() -> None:
    env = Doors()
    actions = iter(["take key", "open blue"])
    episode = play(env, TASK, lambda _: next(actions))
    assert (episode.ending, episode.score, episode.success) == (Ending.terminated(), 0.0, False)


def test_an_episode_whose_turns_run_out() -> None:
    env = Doors()
    episode = play(env, TASK, scripted("constant:wait", env))
    assert len(episode.turns) == 6
    assert (episode.ending, episode.score, episode.success) == (Ending.truncated("turns"), 0.0, False)


def test_an_episode_whose_environment_fails_keeps_the_turns_before() -> None:
    actions = iter(["amber", "blue", "raise"])
    task = Task(env_id="troublesome", task_id="amber-blue-coral-green")
    with EnvPool("tests.envs.faulty:Troublesome") as pool:
        episode = play(pool.lease(), task, lambda _: next(actions))
    assert [turn.action for turn in episode.turns] == ["amber", "blue"]
    assert (episode.ending.kind, episode.ending.cause) == ("failed", "environment")
    assert (episode.score, episode.success, episode.final) == (None, None, None)
