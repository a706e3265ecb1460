"""The workload: the prompts of episodes, with half oracle and half random actions.

So the episodes have the lengths of those in training: many reach the turn limit, some end early.
"""

from __future__ import annotations

from collections.abc import Sequence

from cairn.agents.agent import contexts
from cairn.agents.config import AgentConfig
from cairn.agents.context.base import Prompt
from cairn.agents.models.policy import Policy
from cairn.agents.rollout.play import observe
from cairn.benchmarks.quickstart import settings
from cairn.core.plugin_config import PluginConfig
from cairn.core.seeding import python_generator
from cairn.envs.base import TextEnv

_REPLY = 0  # placeholder for the ids of a reply, which do not affect prompts


def prompts(policy: Policy, env: TextEnv, context: str, episodes: int, turns: int) -> list[list[Prompt]]:
    """Return the prompts of each episode, at most `turns`."""
    return [_episode(policy, env, context, task, turns) for task in env.tasks()[:episodes]]


def _episode(policy: Policy, env: TextEnv, context: str, task: str, turns: int) -> list[Prompt]:
    agent = settings().agent
    if context != agent.context.method:
        agent = AgentConfig(context=PluginConfig(method=context))
    history, rng = contexts(agent, policy)(), python_generator("rollout benchmark", task)
    observation = observe(*env.reset(seed=0, options={"task": task}))
    out: list[Prompt] = []
    while len(out) < turns:
        out.append(history.prompt(observation))
        action = env.oracle("explorer") if rng.random() < 0.5 else rng.choice(observation.admissible or ("look",))
        history.record(observation, action, (_REPLY, policy.encoder.end_id))
        text, _, terminated, truncated, info = env.step(action)
        observation = observe(text, info)
        if terminated or truncated:
            break
    return out


def whole(asked: Sequence[Prompt], replies: Sequence[Sequence[int]]) -> list[int]:
    """Return the full prompt of the turn after `replies`."""
    ids: list[int] = []
    for turn, prompt in enumerate(asked[: len(replies) + 1]):
        if not prompt.extends:
            ids = []
        elif turn:
            ids += replies[turn - 1]
        ids += prompt.ids
    return ids
