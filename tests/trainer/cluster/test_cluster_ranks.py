"""Ranks that learn together on actors: their updates are one process's, also when a rank dies in the middle of one."""

from __future__ import annotations

import copy
import os
import signal
import threading
import time
from dataclasses import replace

import numpy as np
import pytest
from ray.cluster_utils import Cluster as Nodes

from cairn.agents.models.lora import trained
from cairn.core.errors import CairnError
from cairn.trainer.cluster.actors import Cluster
from cairn.trainer.cluster.ranks import RankedLearner, state_of
from cairn.trainer.cluster.weights import files_of, policy_of, put_weights
from cairn.trainer.config import RunConfig
from cairn.trainer.learner.learner import Learner, LearnerConfig
from cairn.trainer.learner.samples import Sample
from tests.agents.tiny import policy
from tests.trainer.cluster.doors import processes, settings
from tests.trainer.learner.test_distributed import samples

pytestmark = [pytest.mark.xdist_group("memory"), pytest.mark.timeout(400)]
STEPS = 3
NEAR = 1e-5  # the order of summation differs


def config() -> RunConfig:
    return settings(
        cluster__ranks=2,
        cluster__placement__learner__resources={"side": 1},
        cluster__silence_s=60,
        learner__minibatches=1,
        learner__micro_batch_tokens=50,
        learner__optimizer={"lr": 1e-3},
        learner__max_mismatch=10.0,
    )


def whole(learner: Learner) -> dict[str, np.ndarray]:
    """Return weights, moments and reference."""
    reference = {} if learner.reference is None else learner.reference.tensors()
    parts = (trained(learner.policy.model), learner.optimizer.tensors(), reference)
    return {f"{i}/{name}": tensor.detach().numpy() for i, part in enumerate(parts) for name, tensor in part.items()}


def killed_soon(pid: int) -> threading.Thread:
    """Stop a process at once, so that the others wait for it in the middle of their work, and kill it in a moment."""

    def kill() -> None:
        time.sleep(1.0)
        os.kill(pid, signal.SIGKILL)

    os.kill(pid, signal.SIGSTOP)
    thread = threading.Thread(target=kill)
    thread.start()
    return thread


def updated(learner: Learner, given: list[Sample], number: int) -> dict[str, float]:
    return learner.update(given, seed=number, version=None)


def test_a_rank_that_is_killed_in_the_middle_of_an_update_changes_nothing(nodes: Nodes) -> None:
    of, alone, given = policy(), policy(), samples()
    expected = Learner(alone, config().learner, STEPS, 1.0)
    notes: list[str] = []
    with Cluster(config().cluster, notes.append) as cluster:
        learner = RankedLearner(cluster, config(), of, STEPS)
        for number in range(3):
            thread = killed_soon(processes(notes, "Learner rank 1")[0]) if number == 1 else None
            found = updated(learner, given, number)
            wanted = updated(expected, given, number)
            assert thread is None or not thread.is_alive()  # it was killed before the update was done
            assert set(found) == set(wanted)
            for name in ("loss", "kl", "entropy", "grad_norm"):
                assert found[name] == pytest.approx(wanted[name], rel=1e-5, abs=1e-6), (number, name)
            assert cluster.replaced == (number > 0)
            assert learner.steps == expected.steps
        assert any(note.startswith("Learner rank 1 (process ") and "is replaced" in note for note in notes)
        assert len(processes(notes, "Learner rank [01]")) == 4  # all were rebuilt
        assert len(set(notes)) == 5
    mine, theirs = whole(learner), whole(expected)
    assert set(mine) == set(theirs)
    for name, tensor in theirs.items():
        np.testing.assert_allclose(mine[name], tensor, rtol=0, atol=NEAR, err_msg=name)


def test_a_learner_rebuilt_from_a_state_continues_bit_for_bit() -> None:
    ema = {"reference": {"kind": "ema", "decay": 0.9, "weight": 0.1}, "max_mismatch": 10.0}
    of, given = LearnerConfig.model_validate(ema), samples()
    first = Learner(policy(), of, STEPS)
    updated(first, given, 0)
    state = copy.deepcopy(state_of(first))  # another process has a copy
    built = policy_of(files_of(policy()), "float32")
    put_weights(built, state.weights)
    second = Learner(built, of, STEPS)
    state.put(second)
    assert updated(first, given, 1) == updated(second, given, 1)
    assert second.steps == 2
    for name, tensor in whole(first).items():
        np.testing.assert_array_equal(whole(second)[name], tensor, err_msg=name)


def test_weights_of_another_model_are_refused() -> None:
    with pytest.raises(CairnError, match="got 'strange', which it does not have"):
        put_weights(policy(), {"strange": np.zeros(4, np.uint8)})
    name = next(iter(trained(policy().model)))
    with pytest.raises(CairnError, match=rf"bytes for weight '{name}', got 4"):
        put_weights(policy(), {name: np.zeros(4, np.uint8)})


def test_errors_of_ranks_are_raised_and_no_rank_is_replaced(nodes: Nodes) -> None:
    """The policy's weights would not have sampled these samples."""
    strict = config().model_copy(update={"learner": config().learner.model_copy(update={"max_mismatch": 1e-9})})
    notes: list[str] = []
    with Cluster(strict.cluster, notes.append) as cluster:
        learner = RankedLearner(cluster, strict, policy(), STEPS)
        fresh = [replace(sample, versions=np.zeros(len(sample.positions), np.int64)) for sample in samples()]
        with pytest.raises(CairnError, match=r"On process .*max_mismatch"):
            learner.update(fresh, seed=0, version=0)
        assert cluster.replaced == 0
