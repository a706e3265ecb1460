"""Converts an engine's active and queued episodes to JSON and back.

The JSON holds every active episode's turns and its partial or pending reply. A restored episode is replayed with the
same actions. If the environment does not return the same observations, the episode restarts and is counted. A job is
stored as its group and member; the run builds its content again.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from cairn.agents.backend import Reply
from cairn.agents.rollout.engine import Engine
from cairn.agents.rollout.episode import EpisodeRunner, Job
from cairn.agents.rollout.groups import Key, State, key_of
from cairn.core.episode_json import (
    array_from_json,
    array_to_json,
    constraint_from_json,
    constraint_to_json,
    turn_from_json,
    turn_to_json,
)


def engine_state(engine: Engine) -> State:
    """Return an engine's state as JSON.

    No environment result may be pending: call `Engine.drain_envs` first.
    """
    return {
        "waiting": [[*key_of(job), attempt] for job, attempt in engine.retry_queue],
        "flights": [
            [*key_of(runner.job), slot, _runner_state(engine, slot, runner)] for slot, runner in engine.active.items()
        ],
        "free": list(engine.free),
        "forecast": None if engine.admission is None else engine.admission.state_dict(),
    }


def keys_in(state: Mapping[str, Any]) -> list[Key]:
    """Return the keys of all jobs in an engine's state."""
    return [(number, member) for number, member, *_ in (*state["waiting"], *state["flights"])]


def restore_engine(engine: Engine, state: Mapping[str, Any], jobs: Mapping[Key, Job]) -> int:
    """Restore a state into a fresh engine; return how many episodes had to restart."""
    for number, member, attempt in state["waiting"]:
        engine.retry_queue.append((jobs[number, member], attempt))
    engine.free = list(state["free"])
    if engine.admission is not None and state["forecast"] is not None:
        engine.admission.load_state_dict(state["forecast"])
    taken = [_take_up(engine, slot, jobs[number, member], kept) for number, member, slot, kept in state["flights"]]
    return taken.count(False)


def _runner_state(engine: Engine, slot: int, runner: EpisodeRunner) -> State:
    reply = runner.pending.reply if runner.pending is not None else engine.backend.so_far(slot)
    return {
        "attempt": runner.attempt,
        "turns": [turn_to_json(turn) for turn in runner.turns],
        "reply": None if reply is None else _reply_to_json(reply),
        "random": runner.rng.getstate(),
    }


def _take_up(engine: Engine, slot: int, job: Job, kept: Mapping[str, Any]) -> bool:
    """Restore an episode; return False if it had to restart."""
    runner = EpisodeRunner.of(job, engine.interface, kept["attempt"])
    version, numbers, gauss = kept["random"]
    runner.rng.setstate((version, tuple(numbers), gauss))
    runner.partial = None if kept["reply"] is None else _reply_from_json(kept["reply"])
    return engine.resume(slot, runner, [turn_from_json(turn) for turn in kept["turns"]])


def _reply_to_json(reply: Reply) -> State:
    return {
        "ids": array_to_json(reply.ids),
        "logprobs": array_to_json(reply.logprobs),
        "constraint": constraint_to_json(reply.constraint),
        "finish": reply.finish,
        "version": reply.version,
    }


def _reply_from_json(data: Mapping[str, Any]) -> Reply:
    return Reply(
        ids=array_from_json(data["ids"], np.int32),
        logprobs=array_from_json(data["logprobs"], np.float32),
        constraint=constraint_from_json(data["constraint"]),
        finish=data["finish"],
        version=data["version"],
    )
