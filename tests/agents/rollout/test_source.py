"""Batches of groups over several updates: groups that continue, the state in a checkpoint, and resumed runs."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

import pytest
import torch

from cairn.agents.backends.hf import HFBackend, HFConfig
from cairn.agents.config import SamplingConfig
from cairn.agents.context.transcript import Transcript, TranscriptConfig
from cairn.agents.models.policy import Policy
from cairn.agents.rollout.engine import Engine, LimitConfig
from cairn.agents.rollout.episode import Job, PolicyInterface
from cairn.agents.rollout.schedule import ScheduleConfig
from cairn.agents.rollout.source import Rollout
from cairn.core.records import Ending, Episode, Task, Turn
from cairn.envs.base import Outcome
from cairn.envs.pool.pool import EnvPool, PoolConfig
from tests.agents.tiny import policy
from tests.envs.faulty import Sound

TASKS = Sound().tasks()
GROUP = 3


def group(number: int) -> list[Job]:
    task = Task(env_id="sound", task_id=TASKS[number % len(TASKS)], seed=number)
    return [Job(task=task, group_id=number, sample_seed=100 * number + member) for member in range(GROUP)]


def rollout(
    of: Policy,
    *,
    batch: int = 2,
    slots: int = 4,
    over: float = 0.0,
    staleness: int = 0,
    env: type[Sound] = Sound,
    max_reply_tokens: int = 64,
    **more: Any,
) -> Rollout:
    interface = PolicyInterface(
        new_context=lambda: Transcript(TranscriptConfig(), of.encoder), decode=of.encoder.decode
    )
    pool = EnvPool(f"{env.__module__}:{env.__qualname__}", {}, PoolConfig(size=slots))
    sampling = SamplingConfig(slots=slots, max_reply_tokens=max_reply_tokens)
    engine = Engine(HFBackend(HFConfig(chunk=8), of, sampling), pool, interface, **more)
    return Rollout(engine, batch, ScheduleConfig(over_provision=over, staleness=staleness), group)


@torch.no_grad()
def learn(of: Policy, version: int) -> None:
    """Change the weights, as an update would."""
    generator = torch.Generator().manual_seed(version)
    for weight in of.model.parameters():
        weight.add_(torch.randn(weight.shape, generator=generator), alpha=0.02)


def played(of: Rollout, policy_of: Policy, updates: Iterable[int]) -> list[list[Episode]]:
    out = []
    for update in updates:
        out.append(of.next_batch())
        assert not any(runner.pending for runner in of.engine.active.values())  # none waits for an answer that is there
        learn(policy_of, update)
        of.sync_weights(update + 1)
    return out


def reported(episodes: Iterable[Episode]) -> list[object]:
    """Return all of episodes that must be equal, but for wall times."""
    return [(e.group_id, e.ending, e.score, [_told(turn) for turn in e.turns]) for e in episodes]


def _told(turn: Turn) -> list[object]:
    assert turn.reply_ids is not None
    assert turn.reply_logprobs is not None
    return [turn.action, turn.reply_ids.tolist(), turn.reply_logprobs.tolist(), turn.policy_version]


def test_without_over_provision_every_update_has_its_own_groups_under_its_own_weights() -> None:
    of = policy()
    batches = played(rollout(of), of, range(3))
    assert [[e.group_id for e in batch] for batch in batches] == [
        [0] * 3 + [1] * 3,
        [2] * 3 + [3] * 3,
        [4] * 3 + [5] * 3,
    ]
    for update, batch in enumerate(batches):
        assert {turn.policy_version for e in batch for turn in e.turns} == {update}


def test_with_over_provision_episodes_continue_under_new_weights_and_none_is_lost() -> None:
    of = policy()
    run = rollout(of, over=1.0, staleness=1, slots=7)
    batches = played(run, of, range(5))
    groups = [e.group_id for batch in batches for e in batch]
    assert all(len(batch) == 2 * GROUP for batch in batches)
    assert {groups.count(number) for number in groups} == {GROUP}
    waiting = {began.key for began in (*run.schedule.ready, *run.schedule.running)}
    assert set(groups) | waiting == set(range(max(groups) + 1)) | waiting
    spans = [{turn.policy_version for turn in e.turns} for batch in batches for e in batch]
    assert any(len(span) == 2 for span in spans)  # some saw two versions
    for update, batch in enumerate(batches):
        versions = [turn.policy_version for e in batch for turn in e.turns if turn.policy_version is not None]
        assert update - 1 <= min(versions) <= max(versions) == update


@pytest.mark.rotating(4)
@pytest.mark.parametrize(("interrupted_after", "slots"), [(1, 4), (2, 7), (4, 12)])
def test_episodes_in_flight_resume_bit_for_bit_after_an_interruption(interrupted_after: int, slots: int) -> None:
    undisturbed = policy()
    expected = played(rollout(undisturbed, over=1.5, staleness=2, slots=slots), undisturbed, range(6))

    of = policy()
    first = rollout(of, over=1.5, staleness=2, slots=slots)
    found = played(first, of, range(interrupted_after))
    assert first.engine.active
    kept = json.loads(json.dumps(first.state_dict()))
    second = rollout(of, over=1.5, staleness=2, slots=slots)
    second.engine.backend.sync_weights(interrupted_after)
    second.load_state_dict(kept)
    assert second.restarted == 0
    found += played(second, of, range(interrupted_after, 6))
    assert [reported(batch) for batch in found] == [reported(batch) for batch in expected]


@pytest.mark.rotating(4)
def test_a_state_contains_pending_replies() -> None:
    """Long free replies: most are cut by an update, and their first tokens keep the version that sampled them."""
    of = policy()

    def free(of: Policy) -> Rollout:
        made = rollout(of, batch=1, over=2.0, staleness=2, max_reply_tokens=24)
        interface = made.engine.interface
        made.engine.interface = PolicyInterface(
            new_context=interface.new_context, decode=interface.decode, constrain=False
        )
        return made

    other = policy()
    expected = played(free(other), other, range(4))
    first = free(of)
    found = played(first, of, range(2))
    kept = first.state_dict()
    assert any(
        len(runner["reply"]["ids"]) > 0 for *_, runner in kept["engines"][0]["flights"] if runner["reply"] is not None
    )
    second = free(of)
    second.engine.backend.sync_weights(2)
    second.load_state_dict(json.loads(json.dumps(kept)))
    found += played(second, of, range(2, 4))
    assert [reported(batch) for batch in found] == [reported(batch) for batch in expected]


class Moody(Sound):
    """Shows something else the second time that a process plays it."""

    mood = ""

    def act(self, action: str) -> Outcome:
        outcome = super().act(action)
        return Outcome(self.mood + outcome.text, outcome.reward, outcome.terminated, outcome.success, outcome.score)


def test_an_episode_whose_environment_changed_is_restarted_and_counted() -> None:
    of = policy()
    Moody.mood = ""
    first = rollout(of, over=1.5, staleness=2, slots=7, env=Moody)
    done = 0
    while not any(runner.turns for runner in first.engine.active.values()):
        played(first, of, [done])
        done += 1
    begun = sum(bool(runner.turns) for runner in first.engine.active.values())
    kept = first.state_dict()
    Moody.mood = "Now "
    second = rollout(of, over=1.5, staleness=2, slots=7, env=Moody)
    second.engine.backend.sync_weights(done)
    second.load_state_dict(kept)
    assert second.restarted == begun
    assert {bool(runner.turns) for runner in second.engine.active.values()} == {False}
    batches = played(second, of, range(done, done + 4))
    assert not any(e.is_failed for batch in batches for e in batch)
    assert all("Now " in turn.observation.text for e in batches[-1] for turn in e.turns[1:])


def test_a_group_beyond_its_time_limit_is_truncated() -> None:
    of = policy()
    run = rollout(of, limits=LimitConfig(group_timeout_s=1e-9))
    batch = run.next_batch()
    assert {e.ending for e in batch} == {Ending.truncated("time")}
    assert not any(e.is_failed for e in batch)
