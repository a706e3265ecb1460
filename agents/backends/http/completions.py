"""Replies as completions of ids: sends a slot's whole sequence, gets ids and their logprobs.

For servers that accept a prompt of ids and return the reply's ids. vLLM does so with `return_token_ids`, or with tokens
written as ``token_id:123``. Sampling uses the full distribution at the configured temperature: all other sampling
settings of the server are switched off. The prompt that the server reports must equal the sent one.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from cairn.agents.backend import Finish, Reply, Request
from cairn.agents.backends.http.fields import first_choice, ids_of, logprobs_of, wrong
from cairn.agents.config import SamplingConfig
from cairn.agents.constraint import constraint_along
from cairn.core.errors import ConfigError
from cairn.core.records import Constraint

if TYPE_CHECKING:
    from cairn.agents.models.policy import Policy

_NO_IDS = (
    "The server returns no token ids, without which nothing can be sampled here or trained on: use one that honours "
    "return_token_ids (vLLM 0.10.2 or later) or writes tokens as token_id:123 (its flag --return-tokens-as-token-ids), "
    "or evaluate with sampling.openai.api = 'chat'"
)
_UNBOUND = "start vLLM with --logits-processors as docs/backends.md says, or set agent.constrain = false"
# Switches off the changes that servers apply to the distribution by default.
_PLAIN = {
    "top_p": 1.0,
    "top_k": 0,
    "min_p": 0.0,
    "repetition_penalty": 1.0,
    "presence_penalty": 0.0,
    "frequency_penalty": 0.0,
}


class IdCompletions:
    """Builds requests to ``/completions`` and parses responses; stores every slot's sequence."""

    path = "/completions"

    def __init__(self, policy: Policy, sampling: SamplingConfig) -> None:
        self._sampling, self._encoder = sampling, policy.encoder
        self._num_ids = len(policy.encoder.tokenizer)
        if policy.model is not None:  # its output layer may have more rows than the tokenizer has tokens
            self._num_ids = max(self._num_ids, int(policy.model.config.vocab_size))
        self._tokens: list[list[int]] = [[] for _ in range(sampling.slots)]  # a slot's sequence, up to its reply

    def begin(self, slot: int, request: Request) -> tuple[dict[str, Any], int] | None:
        """Return a request body and its maximum token count; None: the reply comes from `full`."""
        if not request.prompt_ids:
            raise ConfigError("agent.context.method: this back end reads ids; choose 'chat', 'transcript' or 'window'")
        before = self._tokens[slot] if request.extends else []
        partial = [] if request.partial is None else request.partial.ids.tolist()
        self._tokens[slot] = [*before, *request.prompt_ids]
        prompt = [*self._tokens[slot], *partial]
        left = self._room(request, len(prompt), len(partial))
        if left <= 0 or (partial and partial[-1] in self._ends(request)) or _forced(request) is not None:
            return None
        return self._body(prompt, left, request), len(prompt) + left

    def _ends(self, request: Request) -> frozenset[int]:
        return self._encoder.ends(is_constrained=request.choices is not None)

    def _room(self, request: Request, length: int, partial: int) -> int:
        """Return the maximum number of new ids after a sequence of `length` ids.

        `partial` of these ids already belong to the reply.
        """
        room = self._sampling.max_context - length
        return room if request.choices is not None else min(room, self._sampling.max_reply_tokens - partial)

    def _body(self, prompt: list[int], left: int, request: Request) -> dict[str, Any]:
        return {
            **_PLAIN,
            "prompt": prompt,
            "max_tokens": left,
            "temperature": self._sampling.temperature,
            "seed": request.rng.getrandbits(31),
            "logprobs": 1,
            "return_token_ids": True,
            "return_tokens_as_token_ids": True,
            "ignore_eos": True,  # ignores the model's end id; stop_token_ids end a reply
            "stop_token_ids": sorted(self._ends(request)),
        }

    def read(self, slot: int, request: Request, body: Any, version: int) -> Reply:  # Any: JSON
        """Parse a response into a reply that continues the partial reply.

        Raises:
            ModelFailure: the response is malformed.
            ConfigError: the server returns no ids.
        """
        choice = first_choice(body)
        raw = choice.get("logprobs")
        logprobs: dict[str, Any] = raw if isinstance(raw, dict) else {}
        ids = self._ids(choice, logprobs)
        sampled = logprobs_of(logprobs.get("token_logprobs"), len(ids))
        self._check(slot, request, choice, ids)
        if self._sampling.temperature == 0.0:
            sampled = [0.0] * len(ids)
        return self._reply(slot, request, ids, sampled, version)

    def full(self, slot: int, request: Request, version: int) -> Reply:
        """Return the reply if the context is full or only one choice is left."""
        partial = 0 if request.partial is None else len(request.partial.ids)
        room = max(self._sampling.max_context - len(self._tokens[slot]) - partial, 0)
        ids = list(_forced(request) or ())[:room]
        return self._reply(slot, request, ids, [0.0] * len(ids), version)

    def fork(self, source: int, target: int) -> None:
        """Copy the source's sequence to the target; the server manages its cache."""
        self._tokens[target] = list(self._tokens[source])

    def _reply(self, slot: int, request: Request, ids: list[int], logprobs: list[float], version: int) -> Reply:
        partial = request.partial
        if partial is not None:
            ids, logprobs = [*partial.ids.tolist(), *ids], [*partial.logprobs.tolist(), *logprobs]
            version = partial.version
        self._tokens[slot] += ids
        is_full = len(self._tokens[slot]) >= self._sampling.max_context
        is_closed = bool(ids) and ids[-1] in self._ends(request)
        finish: Finish = "context" if is_full else "end" if is_closed else "length"
        constraint = _constraint(request.choices, ids, is_full=is_full)
        return Reply(
            ids=np.array(ids, np.int32),
            logprobs=np.array(logprobs, np.float32),
            constraint=constraint,
            finish=finish,
            version=version,
        )

    def _ids(self, choice: dict[str, Any], logprobs: dict[str, Any]) -> list[int]:
        if choice.get("token_ids") is not None:
            return ids_of(choice["token_ids"], "token_ids", self._num_ids)
        tokens = logprobs.get("tokens")
        if not isinstance(tokens, list) or not all(isinstance(t, str) and t.startswith("token_id:") for t in tokens):
            raise ConfigError(_NO_IDS)
        numbers = [t.removeprefix("token_id:") for t in tokens]
        if not all(number.isascii() and number.isdigit() and len(number) < 10 for number in numbers):
            raise wrong("tokens: token_id:NUMBER", tokens)
        return ids_of([int(number) for number in numbers], "tokens", self._num_ids)

    def _check(self, slot: int, request: Request, choice: dict[str, Any], ids: list[int]) -> None:
        """Check that the server read the sent prompt and stopped at a requested id."""
        partial = [] if request.partial is None else request.partial.ids.tolist()
        sent, read = [*self._tokens[slot], *partial], choice.get("prompt_token_ids")
        if read is not None and read != sent:
            raise wrong(f"the prompt of {len(sent)} ids that was sent", read)
        ends = self._ends(request)
        if not ids or not ends.isdisjoint(ids[:-1]):
            raise wrong(f"a reply that ends at one of the ids {sorted(ends)}", ids)
        most = self._room(request, len(sent), len(partial))
        if len(ids) > most or (len(ids) < most and ids[-1] not in ends):
            raise wrong(f"{most} ids, or fewer that end in one of {sorted(ends)}", ids)


def remaining(request: Request) -> list[tuple[int, ...]] | None:
    """Return the rests of the choices that begin with the partial reply; None: unconstrained."""
    if request.choices is None:
        return None
    partial = () if request.partial is None else tuple(request.partial.ids.tolist())
    return [choice[len(partial) :] for choice in request.choices if choice[: len(partial)] == partial]


def _forced(request: Request) -> tuple[int, ...] | None:
    """Return the only possible continuation of the reply; None: something has to be sampled."""
    left = set(remaining(request) or ())
    return left.pop() if len(left) == 1 else None


def _constraint(choices: Sequence[tuple[int, ...]] | None, ids: Sequence[int], *, is_full: bool) -> Constraint | None:
    """Return the constraint of the sampled reply; a full sequence may end within a choice."""
    if choices is None:
        return None
    cut = [choice[: len(ids)] for choice in choices] if is_full else choices
    try:
        return constraint_along(cut, ids)
    except ValueError as error:
        raise ConfigError(
            f"agent.constrain: the server does not keep to the allowed ids ({error}); {_UNBOUND}"
        ) from None
