"""A group's episodes as sequences to train on, in each context and each layout.

Advantages and behaviour logprobs are random: the cost of a step does not depend on them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from cairn.agents.agent import contexts
from cairn.agents.config import AgentConfig
from cairn.agents.models.policy import Policy
from cairn.agents.rollout.demonstrations import demonstrate
from cairn.agents.rollout.play import play
from cairn.agents.scripted import scripted
from cairn.benchmarks.quickstart import environment, fresh_policy
from cairn.core.records import Episode, Observation, Task, Turn
from cairn.core.seeding import numpy_generator, python_generator
from cairn.trainer.learner.samples import Sample, make_samples

# Name -> method and settings.
CONTEXTS: dict[str, dict[str, Any]] = {
    "transcript": {"method": "transcript", "transcript": {"remind": "Your task is to: "}},
    "chat, all turns": {"method": "chat", "chat": {"list_actions": True}},
    "chat, last 2 to 9 turns": {"method": "chat", "chat": {"list_actions": True, "history": 2, "stride": 8}},
    "published window": {"method": "window"},
    "published window, all turns": {"method": "window", "window": {"history": 50}},
}
# Prompts of the published window have no bar: they number the turns before their history, so that two turns share
# little more than the task.
PUBLISHED = ("published window", "published window, all turns")
_TASK, _RANDOM = 5, 0.7  # a task that is not solved within 20 turns; share of random turns


def ways(folder: str, num_episodes: int, num_turns: int) -> dict[str, dict[str, list[Sample]]]:
    """Return the sequences of each layout and context, and save the untrained model in `folder`.

    The tree uses the merged sequences, and shares their remaining common prefixes.
    """
    env, policy = environment(turn_limit=num_turns), fresh_policy()
    policy.save(Path(folder))
    episodes = [_play(env, number) for number in range(num_episodes)]
    return {name: _ways(episodes, settings, policy) for name, settings in CONTEXTS.items()}


def _play(env: Any, number: int) -> Episode:  # Any: an environment with an oracle
    rng = python_generator("train benchmark", number)
    at_random, by_oracle = scripted("random", env, number), scripted("oracle:explorer", env)

    def choose(observation: Observation) -> str:
        return (at_random if rng.random() < _RANDOM else by_oracle)(observation)

    return play(env, Task(env_id="household", task_id=env.tasks()[_TASK]), choose)


def _ways(
    episodes: Sequence[Episode], context: Mapping[str, Any], policy: Policy
) -> dict[str, list[Sample]]:  # Any: settings, validated by AgentConfig
    config = AgentConfig.model_validate({"context": context})
    played = [demonstrate(e, contexts(config, policy)(), constrain=True) for e in episodes]
    rng = numpy_generator("train benchmark", "advantages")
    advantages = rng.choice([-1.0, 1.0], sum(len(e.turns) for e in played))
    merged = make_samples(played, advantages)
    alone = make_samples([replace(e, turns=tuple(_whole(e.turns))) for e in played], advantages)
    is_merging = len(merged) < len(alone)
    return {"one row a turn": alone, **({"merged rows": merged} if is_merging else {}), "tree": merged}


def _whole(turns: Sequence[Turn]) -> Iterator[Turn]:
    """Yield every turn with its full prompt."""
    before = np.empty(0, np.int32)
    for turn in turns:
        assert turn.prompt_ids is not None
        assert turn.reply_ids is not None
        prompt = np.concatenate([before, turn.prompt_ids]) if turn.extends_previous else turn.prompt_ids
        before = np.concatenate([prompt, turn.reply_ids])
        yield replace(turn, prompt_ids=prompt, extends_previous=False)
