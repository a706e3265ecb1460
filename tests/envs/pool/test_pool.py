"""A pool turns every way to fail into an EnvironmentFailure, and serves the next episode as if nothing had happened."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import gymnasium
import pytest
from typer.testing import CliRunner

import cairn
from cairn.agents.evaluation.jobs import play_tasks
from cairn.cli.main import app
from cairn.core.errors import (
    CairnError,
    CairnWarning,
    ConfigError,
    EnvironmentFailure,
    EpisodeFailure,
    RewardFailure,
    SandboxFailure,
)
from cairn.envs import registry
from cairn.envs.pool import wire
from cairn.envs.pool.pool import EnvHandle, EnvPool, PoolConfig
from cairn.envs.pool.worker_process import WorkerLimits, WorkerProcess
from tests.interrupts import interrupted_when
from tests.processes import has_ended
from tests.sampling import sampled_params

pytestmark = pytest.mark.rotating(3)

TROUBLE = "tests.envs.faulty:Troublesome"
TASK = "amber-blue-coral-green"
INSIDE = PoolConfig(kind="inside")
APART = PoolConfig(kind="processes", limits=WorkerLimits(seconds_per_call=60.0, memory_bytes=2 << 30))


@pytest.fixture(params=[INSIDE, APART], ids=["inside", "processes"])
def pool(request: pytest.FixtureRequest) -> Iterator[EnvPool]:
    with EnvPool(TROUBLE, pool=request.param) as opened:
        yield opened


@pytest.fixture
def apart() -> Iterator[EnvPool]:
    with EnvPool(TROUBLE, pool=APART) as opened:
        yield opened


def episode(env: EnvHandle) -> list[Any]:
    """A whole episode through the oracle, text that no UTF-8 can hold included."""
    frames: list[Any] = [env.reset(seed=3, options={"task": TASK})]
    frames.append(env.step("\ud83d\ude00 \ud800\x00\x1f"))
    while frames[-1][2 if len(frames) > 1 else 0] is not True:
        frames.append(env.step(env.oracle()))
    return frames


def fail(pool: EnvPool, action: str) -> str:
    with pool.lease() as env:
        env.reset(seed=0, options={"task": TASK})
        with pytest.raises(EnvironmentFailure) as caught:
            env.step(action)
    return str(caught.value)


@pytest.mark.parametrize(("part", "kind"), [("sandbox", SandboxFailure), ("reward", RewardFailure)])
def test_an_episode_failure_in_an_environment_keeps_its_cause(
    pool: EnvPool, part: str, kind: type[EpisodeFailure]
) -> None:
    with pool.lease() as env:
        env.reset(seed=0, options={"task": TASK})
        with pytest.raises(kind, match=f"{part} of environment .*: no ") as caught:
            env.step(part)
    assert caught.value.cause == part
    assert pool.failures == {part: 1}
    assert_serves(pool)


def assert_serves(pool: EnvPool) -> None:
    with pool.lease() as env:
        assert episode(env)[-1][4]["success"]


def test_declared_parts_and_channels_arrive_from_another_process() -> None:
    with EnvPool("tests.envs.faulty:Parted", {"halves": True}, APART) as pool, pool.lease() as env:
        assert (env.meta.parts, env.meta.channels) == (("first", "second"), ("said/*",))
        assert env.meta == registry.declared("tests.envs.faulty:Parted", {"halves": True})


def test_both_kinds_give_the_same_episode_as_the_environment_itself() -> None:
    plain = cairn.make(TROUBLE)
    frames: list[Any] = []
    for config in (INSIDE, APART):
        with EnvPool(TROUBLE, pool=config) as pool, pool.lease() as env:
            assert env.tasks() == list(plain.tasks())
            assert (env.meta, env.turn_limit) == (plain.meta, plain.turn_limit)
            frames.append(episode(env))
    assert frames[0] == frames[1]
    assert frames[0][0] == plain.reset(seed=3, options={"task": TASK})


@pytest.mark.parametrize("config", [INSIDE, APART], ids=["inside", "processes"])
def test_pictures_are_the_same_bytes_from_any_place(config: PoolConfig) -> None:
    with EnvPool("tests.envs.faulty:Pictured", pool=config) as pool, pool.lease() as env:
        images = [frame[-1]["image"] for frame in episode(env)]
    assert images == [bytes([137, 0, 255, turn]) for turn in range(len(images))]
    assert len(images) > 2


def test_blocking_environments_run_in_threads_by_default() -> None:
    def threads(env_id: str, **settings: Any) -> int:
        return EnvPool(env_id, pool=PoolConfig(size=5, **settings)).threads

    assert threads(TROUBLE) == 0
    assert threads(TROUBLE, kind="processes") == 5
    assert threads("code") == len(os.sched_getaffinity(0))
    assert [threads("code", threads=count) for count in (0, 3)] == [0, 3]


@pytest.mark.parametrize(
    ("action", "cause"),
    sampled_params(
        [
            ("raise", "raised"),
            ("nan", "garbage"),
            ("number", "garbage"),
            ("bytes", "garbage"),
            ("quit", "raised"),
            ("much", "garbage"),
            ("object", "garbage"),
            ("channel", "garbage"),
        ],
        parts=4,
    ),
)
def test_a_fault_ends_the_episode_and_not_the_pool(pool: EnvPool, action: str, cause: str) -> None:
    assert cause in fail(pool, action)
    assert pool.failures == {cause: 1}
    assert_serves(pool)
    assert pool.restarts == 1


FAULTS = {
    "raise": f"environment {TROUBLE!r} raised: KeyError: 'lost' (in step())",
    "quit": f"environment {TROUBLE!r} raised: SystemExit: 3 (in step())",
    "bytes": f"environment {TROUBLE!r} garbage: expected text, got b'seven'",
    "much": f"environment {TROUBLE!r} garbage: info['score'] must lie in the declared reward_range (0.0, 1.0), got 5.0",
}


@pytest.mark.parametrize("action", FAULTS)
def test_a_fault_names_the_environment_and_the_method_in_any_place(pool: EnvPool, action: str) -> None:
    assert fail(pool, action) == FAULTS[action]


LISTS = {
    "CannotList": "environment 'sound' raised: FileNotFoundError: tasks.json (in tasks())",
    "QuitsInsteadOfListing": "environment 'sound' raised: SystemExit: no tasks today (in tasks())",
    "ListsNumbers": "environment 'sound': tasks() must return texts, got 1",
}


@pytest.mark.parametrize("name", LISTS)
def test_a_failure_to_list_tasks_gives_one_clear_error(name: str) -> None:
    with pytest.raises(EnvironmentFailure) as caught:
        play_tasks("oracle", f"tests.envs.faulty:{name}", tasks=2)
    assert str(caught.value) == LISTS[name]
    done = CliRunner().invoke(app, ["eval", f"tests.envs.faulty:{name}"])
    assert (done.exit_code, LISTS[name] in " ".join(done.output.split())) == (2, True)


@pytest.mark.parametrize("config", [INSIDE, APART], ids=["inside", "processes"])
def test_tasks_that_cannot_be_listed_fail_in_any_place(config: PoolConfig) -> None:
    with (
        EnvPool("tests.envs.faulty:CannotList", pool=config) as pool,
        pool.lease() as env,
        pytest.raises(EnvironmentFailure, match=r"FileNotFoundError: tasks.json \(in tasks\(\)\)"),
    ):
        env.tasks()


def test_an_environment_that_cannot_close_is_a_warning() -> None:
    pool = EnvPool("tests.envs.faulty:CannotClose", pool=INSIDE)
    pool.lease().close()
    with pytest.warns(CairnWarning, match="'sound' failed to close: SystemExit: the door is stuck"):
        pool.close()


@pytest.mark.parametrize(("action", "cause"), [("exit", "died"), ("eat", "memory"), ("flood", "garbage")])
def test_a_worker_that_breaks_its_limits_is_replaced(apart: EnvPool, action: str, cause: str) -> None:
    assert cause in fail(apart, action)
    assert apart.failures == {cause: 1}
    assert_serves(apart)


def test_a_worker_that_hangs_is_replaced(apart: EnvPool) -> None:
    with apart.lease() as env:
        env.reset(seed=0, options={"task": TASK})
        assert isinstance(env._slot, WorkerProcess)
        env._slot._limits = WorkerLimits(seconds_per_call=0.2)  # of the next call alone: sound calls have more time
        with pytest.raises(EnvironmentFailure, match=r"hung: no answer to 'step' in 0\.2 s"):
            env.step("hang")
    assert apart.failures == {"hung": 1}
    assert_serves(apart)


def test_an_environment_declares_how_long_its_calls_may_take() -> None:
    with (
        EnvPool("tests.envs.faulty:Hasty", pool=PoolConfig(kind="processes")) as pool,
        # On a busy machine the call before, which the lease makes, may take too long as well.
        pytest.raises(EnvironmentFailure, match=r"no answer to '(begin|reset)' in 0\.2 s"),
    ):
        pool.lease().reset(seed=0)


def test_memory_is_taken_back_when_an_environment_eats_it_little_by_little() -> None:
    config = PoolConfig(kind="processes", limits=WorkerLimits(memory_bytes=128 << 20))
    with EnvPool("tests.envs.faulty:Hungry", pool=config) as pool, pool.lease() as env:
        env.reset(seed=0)
        answers = (env.step("eat") for _ in range(10))
        with pytest.raises(EnvironmentFailure, match="memory"):
            list(answers)


def test_a_worker_killed_from_outside_fails_its_episode_only(apart: EnvPool) -> None:
    with apart.lease() as env:
        env.reset(seed=0, options={"task": TASK})
        os.kill(int(env.step("pid")[0]), signal.SIGKILL)
        with pytest.raises(EnvironmentFailure, match="died"):
            env.step("amber")
        with pytest.raises(EnvironmentFailure, match="this lease is over"):
            env.step("amber")
    assert_serves(apart)


def test_a_worker_killed_between_two_leases_is_replaced_unseen(apart: EnvPool) -> None:
    with apart.lease() as env:
        env.reset(seed=0)
        pid = int(env.step("pid")[0])
    os.kill(pid, signal.SIGKILL)
    assert_serves(apart)  # it may still be ending
    assert apart.restarts == 1


def test_output_that_an_environment_prints_does_not_reach_the_pipe(apart: EnvPool) -> None:
    with apart.lease() as env:
        env.reset(seed=0, options={"task": TASK})
        assert env.step("shout")[0] == "Say a colour."


def test_no_process_is_left_behind() -> None:
    with EnvPool(TROUBLE, pool=APART) as pool:
        pids = []
        for action in ("raise", "exit", "look"):
            with pool.lease() as env:
                env.reset(seed=0, options={"task": TASK})
                pids.append(int(env.step("pid")[0]))
                if action != "look":
                    with pytest.raises(EnvironmentFailure):
                        env.step(action)
    assert len(set(pids)) == 3
    assert not [pid for pid in pids if Path(f"/proc/{pid}").exists()]


def test_a_hung_worker_dies_with_its_parent() -> None:
    code = (
        "import sys, os; from cairn.envs.pool.pool import *\n"
        f"pool = EnvPool({TROUBLE!r}, pool=PoolConfig(kind='processes')); env = pool.lease(); env.reset(seed=0)\n"
        "print(env.step('pid')[0], flush=True); env.step('hang')"
    )
    parent = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True)
    assert parent.stdout is not None
    pid = int(parent.stdout.readline())
    parent.kill()
    parent.wait()
    parent.stdout.close()
    assert has_ended(pid)


def test_a_wrong_request_is_an_error_and_the_environment_stays(pool: EnvPool) -> None:
    with pool.lease() as env:
        with pytest.raises(CairnError, match="Unknown task"):
            env.reset(seed=0, options={"task": "no such task"})
        with pytest.raises(gymnasium.error.ResetNeeded):
            env.step("amber")
        with pytest.raises(TypeError, match="an action is text"):
            env.step(None)  # type: ignore[arg-type]  # the wrong request
    assert not pool.failures


def test_a_wrong_setting_is_a_config_error(pool: EnvPool) -> None:
    with (
        EnvPool(TROUBLE, {"turn_limitt": 3}, pool.config) as wrong,
        pytest.raises(ConfigError, match="did you mean 'turn_limit'"),
    ):
        wrong.lease()


def test_a_pool_gives_up_on_an_environment_that_always_fails(pool: EnvPool) -> None:
    config = pool.config.model_copy(update={"restart_limit": 2})
    with EnvPool("tests.envs.faulty:Unbuildable", pool=config) as broken:
        for _ in range(3):
            with pytest.raises(EnvironmentFailure, match="no world"):
                broken.lease()
        with pytest.raises(CairnError, match=r"failed 3 times \(raised 3\); the pool gives up"):
            broken.lease()


def test_snapshots_last_as_long_as_the_lease(pool: EnvPool) -> None:
    with pool.lease() as env:
        env.reset(seed=3, options={"task": TASK})
        kept = env.snapshot()
        ahead = [env.step(env.oracle()) for _ in range(2)]
        env.restore(kept)
        assert [env.step(env.oracle()) for _ in range(2)] == ahead
    with pool.lease() as env:
        env.reset(seed=3, options={"task": TASK})
        with pytest.raises(CairnError, match="no snapshot 0"):
            env.restore(kept)
    assert not pool.failures


def test_a_lease_waits_for_a_free_environment(pool: EnvPool) -> None:
    env = pool.lease()
    with pytest.raises(CairnError, match="came free"):
        pool.lease(timeout_s=0.05)
    timer = threading.Timer(0.1, env.close)
    timer.start()
    with pool.lease(timeout_s=10) as again:
        again.reset(seed=0)
    timer.join()


def test_threads_share_a_pool() -> None:
    config = APART.model_copy(update={"size": 2})
    won: list[bool] = []
    with EnvPool(TROUBLE, pool=config) as pool:

        def play() -> None:
            for _ in range(3):
                with pool.lease() as env:
                    won.append(episode(env)[-1][4]["success"])

        threads = [threading.Thread(target=play) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert won == [True] * 12


def test_a_closed_pool_refuses_leases(pool: EnvPool) -> None:
    pool.close()
    with pytest.raises(CairnError, match="is closed"):
        pool.lease()


def test_closing_a_pool_wakes_those_who_wait_for_a_lease() -> None:
    reported: list[str] = []
    pool = EnvPool(TROUBLE, pool=INSIDE)

    def wait() -> None:
        with pytest.raises(CairnError) as caught:
            pool.lease()
        reported.append(str(caught.value))

    pool.lease()
    threads = [threading.Thread(target=wait) for _ in range(3)]
    for thread in threads:
        thread.start()
    pool.close()
    for thread in threads:
        thread.join(timeout=10)
    assert [text.endswith("is closed") for text in reported] == [True] * 3


@pytest.mark.parametrize("kind", [INSIDE, APART], ids=["inside", "processes"])
@pytest.mark.parametrize("is_given_back", [False, True])
def test_after_an_interrupted_call_no_answer_is_that_of_another(
    kind: PoolConfig, is_given_back: bool, tmp_path: Path
) -> None:
    with EnvPool("tests.envs.faulty:Waits", pool=kind) as pool:
        env, file = pool.lease(), tmp_path / "waits"
        env.reset(seed=0, options={"task": TASK})
        with interrupted_when(file.exists):
            env.step(str(file))
        file.unlink()
        if not is_given_back:
            with pytest.raises(EnvironmentFailure, match="interrupted"):
                env.step("second")
        env.close()
        with pool.lease(timeout_s=60) as fresh:
            fresh.reset(seed=0, options={"task": TASK})
            assert [fresh.step(action)[0] for action in ("third", "fourth")] == ["answer to third", "answer to fourth"]
        assert pool.failures == {"interrupted": 1}


def test_a_worker_that_answers_another_request_is_replaced() -> None:
    with EnvPool(TROUBLE, pool=APART) as pool, pool.lease() as env:
        env.reset(seed=0, options={"task": TASK})
        slot = env._slot
        assert isinstance(slot, WorkerProcess)
        wire.send(slot._socket, {"do": "step", "action": "amber", "request_id": 0})
        with pytest.raises(EnvironmentFailure, match="garbage: in 'step': an answer to request 0"):
            env.step("blue")


def test_a_worker_ends_in_silence_when_it_is_interrupted_or_left(capfd: pytest.CaptureFixture[str]) -> None:
    worker = WorkerProcess("tests.envs.faulty:Sound", {}, WorkerLimits(), {})
    os.kill(worker.process.pid, signal.SIGINT)
    assert TASK in worker.call("tasks")
    wire.send(worker._socket, {"do": "tasks", "request_id": 9})
    worker._socket.close()  # with the answer unread
    assert worker.process.wait(20) == 0
    assert capfd.readouterr().err == ""
