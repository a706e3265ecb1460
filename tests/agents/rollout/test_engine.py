"""Many episodes in flight: jobs return in order, internal failures are retried and marked, no slot stays idle."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from typing import Any, ClassVar

import pytest

from cairn.agents.backends.hf import HFBackend, HFConfig
from cairn.agents.config import SamplingConfig
from cairn.agents.context.base import Context, Prompt
from cairn.agents.context.transcript import Transcript, TranscriptConfig
from cairn.agents.rollout.engine import Engine, collect
from cairn.agents.rollout.episode import Job, PolicyInterface
from cairn.core.errors import CairnError, ModelFailure
from cairn.core.keys import unsigned
from cairn.core.records import Ending, Episode, Observation, Task
from cairn.core.table import StepTable
from cairn.envs.base import Outcome
from cairn.envs.pool.pool import EnvPool, PoolConfig
from tests.agents.tiny import shared
from tests.envs.faulty import COLOURS, Sound, Unbuildable

TASKS = Sound().tasks()


class Failing(Sound):
    """Raises at the third action of the tasks that are marked, as often as they are marked for."""

    left: ClassVar[Counter[str]] = Counter()

    def act(self, action: str) -> Outcome:
        if self.turn == 2 and self.left[self.task_id] > 0:
            self.left[self.task_id] -= 1
            raise KeyError("lost")
        return super().act(action)


class FailingAtReset(Sound):
    """Raises at the start of the tasks that are marked."""

    left: ClassVar[Counter[str]] = Counter()

    def start(self, task_id: str, rng: random.Random) -> str:
        if self.left[task_id] > 0:
            self.left[task_id] -= 1
            raise KeyError("lost")
        return super().start(task_id, rng)


class Forgetful(Transcript):
    """An encoder that fails on an observation when two colours were right."""

    def prompt(self, observation: Observation) -> Prompt:
        if "2 right" in observation.text:
            raise ModelFailure("cannot encode")
        return super().prompt(observation)


class Speechless(Transcript):
    """Cannot encode an action."""

    def render(self, action: str) -> tuple[int, ...]:
        raise ModelFailure(f"cannot encode {action!r}")


class Watched(HFBackend):
    """Notes how many slots are at work at each step."""

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self.at_work: list[int] = []

    def step(self) -> list[Any]:
        self.at_work.append(sum(slot.work is not None for slot in self._slots))
        return super().step()


def transcript() -> Context:
    return Transcript(TranscriptConfig(), shared().encoder)


def engine(
    env: type[Sound] = Sound,
    *,
    slots: int = 4,
    new_context: Callable[[], Context] = transcript,
    retries: int = 1,
    constrain: bool = True,
    **sampling: Any,
) -> Engine:
    return Engine(
        Watched(HFConfig(), shared(), SamplingConfig(slots=slots, **sampling)),
        EnvPool(f"{env.__module__}:{env.__qualname__}", {}, PoolConfig(size=slots)),
        PolicyInterface(new_context=new_context, decode=shared().encoder.decode, constrain=constrain),
        retries=retries,
    )


class Spaced(Sound):
    """Its actions begin with a blank and a capital."""

    def act(self, action: str) -> Outcome:
        return super().act(action.removeprefix(" ").lower() if action in self.admissible() else "?")

    def admissible(self) -> tuple[str, ...]:
        return tuple(sorted(f" {colour.title()}" for colour in COLOURS))

    def oracle_action(self, name: str) -> str:
        return f" {super().oracle_action(name).title()}"


def jobs(count: int) -> list[Job]:
    return [
        Job(task=Task(env_id="sound", task_id=TASKS[i], seed=i), group_id=i // 2, sample_seed=i) for i in range(count)
    ]


def actions(episodes: list[Episode]) -> list[list[str]]:
    return [[turn.action for turn in episode.turns] for episode in episodes]


def test_episodes_are_returned_in_the_order_of_their_jobs() -> None:
    asked = jobs(13)
    seen: list[Episode] = []
    episodes = collect(engine(), asked, seen.append)
    assert [(e.task, e.group_id) for e in episodes] == [(job.task, job.group_id) for job in asked]
    assert Counter(map(id, seen)) == Counter(map(id, episodes))
    assert seen != episodes  # they end in another order


def test_an_episode_stores_its_prompts_replies_and_rewards() -> None:
    (episode,) = collect(engine(), jobs(1))
    env = Sound()
    text, info = env.reset(seed=0, options={"task": TASKS[0]})
    for i, turn in enumerate(episode.turns):
        assert (turn.observation.text, turn.observation.anchor) == (text, unsigned(info["anchor"]))
        assert turn.extends_previous == (i > 0)
        assert turn.prompt_ids is not None
        assert turn.reply_ids is not None
        assert shared().encoder.decode(turn.prompt_ids.tolist()) == f"{text}<|act|>"
        assert shared().encoder.decode(turn.reply_ids.tolist()) == f"{turn.action}<|end|>"
        text, reward, terminated, truncated, info = env.step(turn.action)
        assert turn.reward == reward
    assert terminated or truncated
    assert episode.final is not None
    assert (episode.final.text, episode.score, episode.success) == (text, info["score"], info["success"])
    assert episode.ending == (Ending.terminated() if terminated else Ending.truncated("turns"))


@pytest.mark.parametrize("slots", [1, 3, 7])
def test_episodes_do_not_depend_on_the_number_of_slots(slots: int) -> None:
    found = collect(engine(slots=slots), jobs(10))
    assert actions(found) == actions(collect(engine(slots=10), jobs(10)))


def test_every_slot_is_at_work_for_as_long_as_jobs_wait() -> None:
    of = engine(slots=4)
    done_when_seen: list[int] = []
    backend = of.backend
    assert isinstance(backend, Watched)
    collect(of, jobs(12), lambda _: done_when_seen.append(len(backend.at_work)))
    last_start = done_when_seen[12 - 4 - 1]  # the step in which the last waiting job's slot came free
    assert set(backend.at_work[: last_start - 1]) == {4}  # an ending is heard of after the step that follows it


def test_replies_are_admissible_actions() -> None:
    episodes = collect(engine(), jobs(8))
    assert {action for row in actions(episodes) for action in row} <= {"amber", "blue", "coral", "green"}


def test_unconstrained_replies_may_have_any_text() -> None:
    (episode,) = collect(engine(constrain=False, max_reply_tokens=3), jobs(1))
    assert len(episode.turns) == 10
    assert all(turn.constraint is None for turn in episode.turns)
    assert episode.ending == Ending.truncated("turns")
    assert not episode.success


def test_an_episode_that_failed_once_is_played_again_with_a_fresh_environment() -> None:
    Failing.left.clear()
    Failing.left[TASKS[1]] = 1
    seen: list[Episode] = []
    of = engine(Failing)
    episodes = collect(of, jobs(5), seen.append)
    assert not any(e.is_failed for e in episodes)
    assert len(seen) == 5
    assert actions(episodes) == actions(collect(engine(Sound), jobs(5)))
    assert isinstance(of.pool, EnvPool)
    assert of.pool.failures == {"raised": 1}


@pytest.mark.parametrize("retries", [0, 2])
def test_an_episode_that_keeps_failing_is_marked_and_never_scored(retries: int) -> None:
    Failing.left.clear()
    Failing.left[TASKS[1]] = 100
    seen: list[Episode] = []
    episodes = collect(engine(Failing, retries=retries), jobs(5), seen.append)
    assert [e.is_failed for e in episodes] == [False, True, False, False, False]
    assert len(seen) == 5
    assert 100 - Failing.left[TASKS[1]] == retries + 1
    failed = episodes[1]
    assert (failed.score, failed.success, len(failed.turns)) == (None, None, 2)
    assert (failed.ending.kind, failed.ending.cause) == ("failed", "environment")
    assert "lost" in failed.ending.detail
    with pytest.raises(CairnError, match="leave failed episodes out"):
        StepTable.from_episodes(episodes)


def test_a_failure_at_reset_is_retried_and_counted_too() -> None:
    FailingAtReset.left.clear()
    FailingAtReset.left.update({TASKS[0]: 1, TASKS[2]: 100})
    episodes = collect(engine(FailingAtReset), jobs(4))
    assert [e.is_failed for e in episodes] == [False, False, True, False]
    assert episodes[2].turns == ()


def test_environments_that_cannot_be_built_fail_every_episode() -> None:
    episodes = collect(engine(Unbuildable), jobs(3))
    assert [(e.ending.kind, e.ending.cause) for e in episodes] == [("failed", "environment")] * 3


def test_a_pool_beyond_its_restart_limit_stops_the_collection() -> None:
    of = engine(Unbuildable)
    of.pool = EnvPool("tests.envs.faulty:Unbuildable", {}, PoolConfig(size=4, restart_limit=2))
    with pytest.raises(CairnError, match="the pool gives up"):
        collect(of, jobs(4))


@pytest.mark.parametrize("broken", [Forgetful, Speechless])
def test_text_that_the_tokenizer_cannot_encode_is_a_failure_of_the_model(broken: type[Transcript]) -> None:
    of = engine(new_context=lambda: broken(TranscriptConfig(), shared().encoder))
    episodes = collect(of, jobs(12))
    failed = [e for e in episodes if e.is_failed]
    assert failed
    assert all(e.ending.cause == "model" and "cannot encode" in e.ending.detail for e in failed)
    for lent in (of.pool.lease() for _ in range(4)):  # every environment came back
        assert lent.tasks()


def test_a_full_context_cuts_the_episode_and_keeps_its_turns() -> None:
    episodes = collect(engine(max_context=64), jobs(6))
    cut = [e for e in episodes if e.ending == Ending.truncated("tokens")]
    assert cut
    for episode in cut:
        assert episode.score == 0.0
        ids = [len(t.prompt_ids) + len(t.reply_ids) for t in episode.turns]  # type: ignore[arg-type]  # both are there
        assert 0 < sum(ids) <= 64


def test_no_jobs_give_no_episodes() -> None:
    assert collect(engine(), []) == []


def test_a_constrained_reply_gives_the_chosen_action_regardless_of_its_text() -> None:
    """As with tokenizers that lower-case, normalise, or drop a first blank."""
    made = engine(Spaced)
    made.interface = replace(made.interface, decode=lambda ids: shared().encoder.decode(ids).strip().lower())
    episodes = collect(made, jobs(4))
    for episode in episodes:
        assert episode.turns
        for turn in episode.turns:
            assert turn.is_valid
            assert turn.action in (turn.observation.admissible or ())
            assert turn.reply_text == turn.action.strip().lower()
