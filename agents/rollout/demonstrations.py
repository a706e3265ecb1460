"""Converts played episodes into token episodes for imitation.

The prompts and the constraint are the policy's; the replies are the expert's.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from cairn.agents.constraint import constraint_along
from cairn.agents.context.base import Context
from cairn.core.records import Episode, Turn


def demonstrate(episode: Episode, context: Context, *, constrain: bool) -> Episode:
    """Return `episode` with the token ids that a policy with this context would see and sample.

    Logprobs are 0, because the policy did not sample the replies. A turn whose action is not admissible gets no
    constraint.

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
