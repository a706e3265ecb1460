"""Turn played episodes into token episodes to imitate: a policy's prompts and constraint, the expert's replies."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from cairn.agents.constraint import constraint_along
from cairn.agents.context.base import Context
from cairn.core.records import Episode, Turn


def demonstrate(episode: Episode, context: Context, *, constrain: bool) -> Episode:
    """Return `episode` with the ids that a policy with this context would have been shown and would have sampled.

    Logprobs are 0: they were not sampled from the policy. An action that is not admissible is shown unconstrained.

    Raises:
        ModelFailure: the tokenizer cannot encode an observation.
    """
    turns: list[Turn] = []
    for turn in episode.turns:
        prompt = context.prompt(turn.observation)
        reply = context.render(turn.action)
        admissible = turn.observation.admissible
        is_open = not constrain or not admissible or turn.action not in admissible
        turns.append(
            replace(
                turn,
                prompt_ids=np.array(prompt.ids, np.int32),
                extends_previous=prompt.extends,
                reply_ids=np.array(reply, np.int32),
                reply_logprobs=np.zeros(len(reply), np.float32),
                constraint=None if is_open else constraint_along([context.render(a) for a in admissible or ()], reply),
            )
        )
        context.record(turn.observation, turn.action, reply)
    return replace(episode, turns=tuple(turns), origin="expert")
