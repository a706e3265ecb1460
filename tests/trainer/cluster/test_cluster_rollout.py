"""Workers that are killed, stopped or cut off: every job ends exactly once, and nothing waits for a lost worker."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time

import pytest
from ray.cluster_utils import Cluster as Nodes

from cairn.agents.agent import new_backend, policy_interface
from cairn.agents.rollout.groups import State
from cairn.agents.rollout.source import Rollout
from cairn.core.errors import CairnError
from cairn.core.records import Episode
from cairn.trainer.cluster.rollout import ClusterRollout
from cairn.trainer.engine import build_engine
from tests.trainer.cluster.conftest import NODE
from tests.trainer.cluster.doors import (
    HEAVY,
    PAIR,
    SOLO,
    batches,
    cluster_rollout,
    expected,
    order_of,
    policy_for,
    processes,
    settings,
    tasks_of,
    wait_for,
)

pytestmark = [pytest.mark.xdist_group("memory"), pytest.mark.timeout(400)]
SILENCE_S = 120


def both_there(rollout: ClusterRollout, notes: list[str]) -> list[int]:
    """Play an update, learn for a while and return the workers' processes."""
    rollout.next_batch()
    time.sleep(0.5)  # nothing that counts as of the new weights may begin before these are published
    rollout.sync_weights(1)
    return [wait_for(notes, f"Rollout worker {number}") for number in range(2)]


def both_at_work(rollout: ClusterRollout, within_s: float = 1.0) -> tuple[list[Episode], State, int]:
    """Play updates until a state has episodes of both workers: the episodes, that state, the weights' version."""
    before, version = list[Episode](), 1
    while True:
        before, version = before + rollout.next_batch(), version + 1
        rollout.sync_weights(version)
        until = time.monotonic() + within_s
        while time.monotonic() < until:
            kept = json.loads(json.dumps(rollout.state_dict()))
            if all(engine["flights"] for engine in kept["engines"]):
                return before, kept, version


def kill_first(rollout: ClusterRollout, pid: int, number: int = signal.SIGKILL) -> list[Episode]:
    """Return an update's episodes; the process gets the signal when the first of them has ended.

    The silence of a stopped worker is made longer than the limit, which other workers on a slow machine do not reach.
    """
    left = [pid]

    def kill(_: Episode) -> None:
        if left:
            os.kill(left.pop(), number)

    def age() -> None:
        for worker in rollout._workers:
            if number == signal.SIGSTOP and not left and worker.process.startswith(f"process {pid} "):
                worker.called -= SILENCE_S

    return rollout.next_batch(kill, age)


def test_workers_that_die_or_fall_silent_are_replaced_up_to_the_limit(nodes: Nodes) -> None:
    config, notes = settings(**HEAVY, **PAIR, cluster__silence_s=SILENCE_S, cluster__replacements=2), list[str]()
    with cluster_rollout(config, notes) as rollout:
        first, second = both_there(rollout, notes)
        episodes = kill_first(rollout, first)
        assert tasks_of(episodes) == expected(config, 2)[16:]
        assert {turn.policy_version for e in episodes for turn in e.turns} == {1}
        assert rollout.cluster.replaced == 1
        assert 0 < rollout.metrics()["restarted"] <= config.sampling.slots
        assert any(note.startswith(f"Rollout worker 0 (process {first} on ") for note in notes)

        wait_for(notes, "Rollout worker 0", 2)
        rollout.sync_weights(2)
        try:
            episodes = kill_first(rollout, second, signal.SIGSTOP)
        finally:
            os.kill(second, signal.SIGKILL)
        assert tasks_of(episodes) == expected(config, 3)[32:]
        assert {turn.policy_version for e in episodes for turn in e.turns} == {2}  # the first's replacement's too
        assert any(f"is replaced: it did not answer for {SILENCE_S} s" in note for note in notes)

        pid = wait_for(notes, "Rollout worker 1", 2)
        rollout.sync_weights(3)
        with pytest.raises(CairnError, match=rf"Rollout worker 1 \(process {pid} on .*replacements = 2"):
            kill_first(rollout, pid)


def test_workers_that_no_machine_has_room_for_are_an_error(nodes: Nodes) -> None:
    nowhere = {"cluster__workers": 1, "cluster__placement__worker__resources": {"moon": 1}, "cluster__start_s": 1}
    with (
        cluster_rollout(settings(**nowhere), []) as rollout,
        pytest.raises(CairnError, match=r"No rollout worker could start within cluster.start_s = 1 s.*moon.*CPU.*free"),
    ):
        rollout.next_batch()


def test_a_configuration_error_in_a_worker_is_raised_and_no_worker_is_replaced(nodes: Nodes) -> None:
    config = settings(cluster__workers=1)
    notes: list[str] = []
    broken = config.model_copy(update={"sampling": config.sampling.model_copy(update={"method": "unheard-of"})})
    with cluster_rollout(broken, notes) as rollout, pytest.raises(CairnError, match=r"On process .*'unheard-of'"):
        rollout.next_batch()
    assert notes == []


def test_no_cluster_at_an_address_is_an_error() -> None:
    """In a process of its own: this one has joined a cluster."""
    code = (
        "from cairn.trainer.cluster.actors import Cluster\n"
        "from cairn.trainer.cluster.config import ClusterConfig\n"
        "Cluster(ClusterConfig(workers=1, address='127.0.0.1:1'), print)"
    )
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=90)
    assert "ConfigError: cluster.address: cannot join a Ray cluster at '127.0.0.1:1'" in ended.stderr


def test_a_state_resumes_on_workers_of_which_one_loses_its_machine_and_in_one_process(nodes: Nodes) -> None:
    """Many groups in flight: complete ones, queued ones, and active episodes on both workers."""
    ahead = {"schedule__over_provision": 1.5, "schedule__staleness": 2}
    config, notes = settings(**HEAVY, **PAIR, **ahead), list[str]()
    with cluster_rollout(config, notes) as rollout:
        both_there(rollout, notes)
        before, kept, version = both_at_work(rollout)
        assert len(rollout.next_batch()) == 16  # it continues after the state was taken
    policy, order = policy_for(config), order_of(config)

    interface = policy_interface(config.agent, policy)
    engine = build_engine(config, new_backend(config.sampling, policy), interface, config.env.config)
    alone = Rollout(engine, config.trainer.groups, config.schedule, order.group)
    alone.sync_weights(version)
    alone.load_state_dict(kept)
    assert alone.restarted == sum(len(engine["flights"]) for engine in kept["engines"])
    check_whole([e for _ in range(3) for e in alone.next_batch()], kept, before)

    extra = nodes.add_node(**NODE, resources={"solo": 1})
    config, notes = settings(**HEAVY, **SOLO, **ahead), []
    with cluster_rollout(config, notes, version) as rollout:
        rollout.load_state_dict(kept)
        played = rollout.next_batch()
        for number in range(2):
            wait_for(notes, f"Rollout worker {number}")
        assert rollout.restarted == 0
        nodes.remove_node(extra)
        rollout.sync_weights(version + 1)
        check_whole(played + batches(rollout, 2, version + 2), kept, before)
        assert rollout.cluster.replaced == 1
        assert len(notes) == 3  # two began and one is gone: no machine has room for its replacement


def check_whole(played: list[Episode], kept: dict[str, list[list[int]]], before: list[Episode]) -> None:
    """Check that groups are whole, come once, and that none that had begun is left out."""
    numbers = [episode.group_id for episode in played]
    assert {numbers.count(number) for number in numbers} == {4}
    assert not set(numbers) & {episode.group_id for episode in before}
    assert {number for number, _ in (*kept["ready"], *kept["running"])} <= set(numbers)


def test_processes_are_read_from_notes() -> None:
    assert processes(["Rollout worker 0 is process 12 on here", "Rollout worker 0 died"], "Rollout worker 0") == [12]
