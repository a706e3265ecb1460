"""Limits of the engine: slow environments, timeouts, servers that fail, and memory."""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Callable, Iterable
from typing import Any

import pytest

from cairn.agents.backend import Reply, Request
from cairn.agents.backends.hf import HFBackend, HFConfig
from cairn.agents.config import SamplingConfig
from cairn.agents.context.transcript import Transcript, TranscriptConfig
from cairn.agents.rollout.admission import CacheAdmission
from cairn.agents.rollout.engine import Engine, LimitConfig, collect
from cairn.agents.rollout.episode import Job, PolicyInterface
from cairn.core.errors import EnvironmentFailure, EpisodeFailure, ModelFailure
from cairn.core.records import Ending, Episode, Task
from tests.agents.tiny import shared
from tests.envs.faulty import Sound

TASKS = Sound().tasks()
MANNER = PolicyInterface(
    new_context=lambda: Transcript(TranscriptConfig(), shared().encoder), decode=shared().encoder.decode
)


class Threads:
    """A pool whose environments take as long as `wait` says, each in the engine's threads."""

    threads = 4

    def __init__(self, wait: Callable[[str], None] = lambda _: None) -> None:
        self.wait = wait
        self.at_work = self.most = self.lent = 0
        self._lock = threading.Lock()

    def lease(self) -> Any:  # Any: an environment
        with self._lock:
            self.lent += 1
        return Slow(self)

    def release(self, handle: Any) -> None:  # Any: an environment
        with self._lock:
            self.lent -= 1

    def close(self) -> None:
        pass

    def work(self, what: str) -> None:
        with self._lock:
            self.at_work += 1
            self.most = max(self.most, self.at_work)
        try:
            self.wait(what)
        finally:
            with self._lock:
                self.at_work -= 1


class Slow:
    def __init__(self, pool: Threads) -> None:
        self.pool, self.env = pool, Sound()

    def reset(self, **arguments: Any) -> Any:  # Any: Gymnasium's
        self.pool.work("reset")
        return self.env.reset(**arguments)

    def step(self, action: str) -> Any:  # Any: Gymnasium's
        self.pool.work(action)
        return self.env.step(action)


def jobs(count: int, group_of: Callable[[int], int] = lambda i: i) -> list[Job]:
    return [
        Job(task=Task(env_id="sound", task_id=TASKS[i], seed=i), group_id=group_of(i), sample_seed=i)
        for i in range(count)
    ]


def backend(slots: int = 4, chunk: int = 96, **settings: Any) -> HFBackend:
    return HFBackend(HFConfig(chunk=chunk), shared(), SamplingConfig(slots=slots, **settings))


def actions(episodes: Iterable[Episode]) -> list[list[str]]:
    return [[turn.action for turn in episode.turns] for episode in episodes]


class Inline(Threads):
    threads = 0


def test_no_more_environments_work_at_once_than_the_pool_has_threads_for() -> None:
    pool = Threads(lambda _: time.sleep(0.02))
    pool.threads = 2
    found = collect(Engine(backend(), pool, MANNER), jobs(8))
    assert pool.most == 2
    assert actions(found) == actions(collect(Engine(backend(), Inline(), MANNER), jobs(8)))


def test_slow_environments_run_concurrently_and_give_the_actions_of_fast_ones() -> None:
    pool = Threads(lambda _: time.sleep(0.02))
    found = collect(Engine(backend(), pool, MANNER), jobs(8))
    assert pool.most == 4
    assert pool.lent == 0
    assert actions(found) == actions(collect(Engine(backend(), Inline(), MANNER), jobs(8)))


def test_the_back_end_samples_while_an_environment_works() -> None:
    """One environment waits until another episode has ended altogether."""
    first_ended = threading.Event()
    waiting = threading.Lock()

    def wait(what: str) -> None:
        if what != "reset" and waiting.acquire(blocking=False):
            assert first_ended.wait(20)

    found = collect(Engine(backend(2), Threads(wait), MANNER), jobs(2), lambda _: first_ended.set())
    assert not any(episode.is_failed for episode in found)


def test_an_internal_error_in_a_thread_is_raised() -> None:
    def wait(what: str) -> None:
        if what != "reset":
            raise ZeroDivisionError("a bug")

    with pytest.raises(ZeroDivisionError, match="a bug"):
        collect(Engine(backend(), Threads(wait), MANNER), jobs(2))


def test_a_failure_in_a_thread_is_retried_with_a_fresh_environment() -> None:
    failures = iter([EnvironmentFailure("lost")])

    def wait(what: str) -> None:
        if what != "reset" and (failure := next(failures, None)) is not None:
            raise failure

    pool = Threads(wait)
    found = collect(Engine(backend(), pool, MANNER), jobs(3))
    assert not any(episode.is_failed for episode in found)
    assert pool.lent == 0


class Clock:
    """Moves by one second whenever it is looked at."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        self.now += 1.0
        return self.now


def test_an_episode_beyond_its_time_limit_is_truncated_with_its_current_score() -> None:
    limits = LimitConfig(episode_timeout_s=25)
    engine = Engine(backend(2, chunk=4), Inline(), MANNER, limits=limits, clock=Clock())
    found = collect(engine, jobs(4))
    assert {episode.ending for episode in found} == {Ending.truncated("time")}
    assert all(episode.score == 0.0 and not episode.is_failed for episode in found)
    assert sorted(engine.free) == [0, 1]


def test_a_turn_beyond_its_time_limit_truncates_its_episode_when_it_returns() -> None:
    engine = Engine(backend(1), Threads(lambda what: time.sleep(0.3 * (what != "reset"))), MANNER)
    engine.limits = LimitConfig(turn_timeout_s=0.1)
    (found,) = collect(engine, jobs(1))
    assert found.ending == Ending.truncated("time")
    assert len(found.turns) == 1  # finished turns count


def test_a_reset_beyond_the_time_limit_gives_an_episode_without_turns() -> None:
    engine = Engine(
        backend(1), Threads(lambda what: time.sleep(0.3)), MANNER, limits=LimitConfig(episode_timeout_s=0.1)
    )
    (found,) = collect(engine, jobs(1))
    assert (found.ending, found.turns) == (Ending.truncated("time"), ())


def test_a_group_can_be_cut() -> None:
    engine = Engine(backend(4, chunk=2), Inline(), MANNER)
    left = iter(jobs(4, lambda i: i % 2))
    engine.step(lambda: next(left, None))
    cut = engine.abort_group(1)
    assert [episode.group_id for _, episode in cut] == [1, 1]
    assert [runner.job.group_id for runner in engine.active.values()] == [0, 0]
    assert {episode.ending for _, episode in cut} == {Ending.truncated("time")}


class Failing(HFBackend):
    """Fails for the first requests that it finishes."""

    left = 0

    def step(self) -> list[tuple[int, Reply | EpisodeFailure]]:
        out = super().step()
        for i, (slot, _) in enumerate(out):
            if self.left:
                self.left -= 1
                out[i] = (slot, ModelFailure("the server is gone"))
        return out


@pytest.mark.parametrize(("failures", "failed"), [(1, 0), (200, 3)])
def test_a_model_that_fails_fails_its_episodes_and_they_are_played_again(failures: int, failed: int) -> None:
    model = Failing(HFConfig(), shared(), SamplingConfig(slots=4))
    model.left = failures
    pool = Inline()
    found = collect(Engine(model, pool, MANNER), jobs(3))
    assert sum(episode.is_failed for episode in found) == failed
    assert all(e.ending == Ending.failed("model", "the server is gone") for e in found if e.is_failed)
    assert pool.lent == 0
    if not failed:
        assert actions(found) == actions(collect(Engine(backend(), Inline(), MANNER), jobs(3)))


def test_no_more_begin_than_the_forecast_has_room_for() -> None:
    most = []

    class Watched(HFBackend):
        def step(self) -> list[tuple[int, Reply | EpisodeFailure]]:
            most.append(sum(slot.work is not None for slot in self._slots))
            return super().step()

    model = Watched(HFConfig(), shared(), SamplingConfig(slots=8))
    whole = actions(collect(Engine(backend(8), Inline(), MANNER), jobs(8)))
    found = collect(Engine(model, Inline(), MANNER, admission=CacheAdmission(300, 256)), jobs(8))
    assert max(most) < 8
    assert actions(found) == whole


def test_one_episode_begins_however_little_room_there_is() -> None:
    found = collect(Engine(backend(8), Inline(), MANNER, admission=CacheAdmission(1, 256)), jobs(2))
    assert len(found) == 2


# -- other calls of the engine to a back end ---------------------------------------------------------------------------


def replied(of: HFBackend, slot: int) -> Reply:
    while True:
        for number, reply in of.step():
            if number == slot:
                assert isinstance(reply, Reply)
                return reply


def asked(seed: int = 0, *, partial: Reply | None = None, extends: bool = False, text: str = "") -> Request:
    prompt = shared().encoder.encode(text or "A note says: amber. There is a key and 6 doors.")
    return Request(prompt_ids=prompt, extends=extends, choices=None, rng=random.Random(seed), partial=partial)


def test_a_partial_reply_is_resumed() -> None:
    whole = backend(1, max_reply_tokens=12)
    whole.submit(0, asked())
    expected = replied(whole, 0)

    first = backend(1, max_reply_tokens=12)
    first.sync_weights(3)
    request = asked()
    first.submit(0, request)
    assert first.so_far(0) is None
    while (part := first.so_far(0)) is None or len(part.ids) < 5:
        assert first.step() == []
    assert part.finish == "abort"
    second = backend(1, max_reply_tokens=12)
    second.sync_weights(4)
    again = asked(partial=part)
    again.rng.setstate(request.rng.getstate())
    second.submit(0, again)
    found = replied(second, 0)
    assert found.ids.tolist() == expected.ids.tolist()
    assert found.logprobs == pytest.approx(expected.logprobs, abs=1e-5)
    assert (found.finish, found.version) == (expected.finish, 3)  # of its first token's weights


def test_an_aborted_reply_leaves_the_slot_free() -> None:
    of = backend(1)
    of.submit(0, asked())
    of.step()
    of.abort(0)
    assert of.so_far(0) is None
    of.submit(0, asked(1))
    expected = backend(1)
    expected.submit(0, asked(1))
    assert replied(of, 0).ids.tolist() == replied(expected, 0).ids.tolist()


def test_a_forked_slot_continues_like_its_source_without_computing_it_again() -> None:
    of = backend(3, max_reply_tokens=4)
    of.submit(0, asked())
    replied(of, 0)
    of.fork(0, 2)
    computed = of.tokens_processed
    of.submit(2, asked(5, extends=True, text="The door opens."))
    found = replied(of, 2)
    assert of.tokens_processed - computed <= 1 + len(shared().encoder.encode("The door opens.")) + 4
    of.submit(0, asked(5, extends=True, text="The door opens."))
    same = replied(of, 0)
    assert found.ids.tolist() == same.ids.tolist()
    assert found.logprobs == pytest.approx(same.logprobs, abs=1e-5)
    of.submit(1, asked())
    with pytest.raises(RuntimeError, match="idle"):
        of.fork(1, 2)
