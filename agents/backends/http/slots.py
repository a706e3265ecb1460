"""A back end over a model server: maps slots to requests; an `Api` builds and parses them.

`step` returns the replies that have arrived, and waits briefly if none has. The server has its own weights: replies
keep version 0.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Protocol

from cairn.agents.backend import Reply, Request
from cairn.agents.backends.http.client import Client, ServerRefusal
from cairn.agents.backends.http.config import ModelServerConfig
from cairn.agents.backends.http.usage import TokenUsage, tokens_of
from cairn.agents.config import SamplingConfig
from cairn.core.errors import EpisodeFailure, ModelFailure

_WAIT_S = 0.05
_OF_TOOLS = ("tool_choice", "parallel_tool_calls")
_TOO_LONG = ("context_length_exceeded", "maximum context length")  # OpenAI's code and vLLM's words


class Api(Protocol):
    """One API of a server for requesting replies."""

    path: str

    def begin(self, slot: int, request: Request) -> tuple[dict[str, Any], int] | None:
        """Return a request body and its maximum token count; None: the reply comes from `full`."""

    def read(self, slot: int, request: Request, body: Any, version: int) -> Reply:  # Any: JSON
        """Parse a response into a reply.

        Raises:
            ModelFailure: the response is malformed.
        """

    def full(self, slot: int, request: Request, version: int) -> Reply:
        """Return the reply of a request that exceeds the context or needs no server."""

    def fork(self, source: int, target: int) -> None:
        """Copy the source's sequence to the target."""


@dataclass(frozen=True, slots=True)
class _Asked:
    """A pending request."""

    request: Request
    body: Mapping[str, Any]
    tokens: int  # estimated
    version: int  # of the weights when the request was submitted


class ServedBackend:
    """`agents.backend.Backend` over a client and an `Api`."""

    cache_tokens: int | None = None  # the server manages its memory

    def __init__(self, sampling: SamplingConfig, config: ModelServerConfig, api: Api, model: str) -> None:
        self.num_slots, self.version, self.tokens_processed = sampling.slots, 0, 0
        self.client = Client(config)
        self._config, self._api, self._model = config, api, model
        self._asked: dict[int, _Asked] = {}  # by slot
        self._tickets: dict[int, int] = {}  # slot by ticket, of sent requests
        self._done: list[tuple[int, Reply | EpisodeFailure]] = []  # replies produced without the server

    @property
    def usage(self) -> TokenUsage:
        """Token usage so far."""
        return self.client.tally.total

    def submit(self, slot: int, request: Request) -> None:
        """Request a reply in this slot; see `agents.backend.Backend`."""
        if slot in self._asked:
            raise RuntimeError(f"slot {slot} is still working on a reply")
        started = self._api.begin(slot, request)
        if started is None:
            self._done.append((slot, self._api.full(slot, request, self.version)))
            return
        body = {"model": self._model, **started[0], **self._config.extra}
        self._asked[slot] = _Asked(request, self._trimmed(body), started[1], self.version)
        self._send(slot)

    def step(self) -> list[tuple[int, Reply | EpisodeFailure]]:
        """Return the replies that have arrived; see `agents.backend.Backend`."""
        done, self._done = self._done, []
        for ticket, value in self._arrived(0.0 if done else _WAIT_S):
            slot = self._tickets.pop(ticket, None)
            if slot is not None:  # else it was aborted
                done.append((slot, self._read(slot, self._asked.pop(slot), value)))
        return done

    def so_far(self, slot: int) -> Reply | None:
        """Return None: there are no partial replies."""
        return None

    def abort(self, slot: int) -> None:
        """Cancel the request and close its connection, so that the server notices."""
        self._unsend(slot)
        self._asked.pop(slot, None)
        self._done = [(other, reply) for other, reply in self._done if other != slot]

    def fork(self, source: int, target: int) -> None:
        """Copy the source's sequence to the target."""
        if source in self._asked or target in self._asked:
            raise RuntimeError(f"slots {source} and {target} must be idle to be forked")
        self._api.fork(source, target)

    def sync_weights(self, version: int) -> None:
        """Do nothing: the server has its own weights, and replies keep their version."""

    def close(self) -> None:
        """Cancel unfinished replies and close all connections."""
        self.client.close()

    def _arrived(self, wait_s: float) -> list[tuple[int, Any]]:  # Any: JSON, or a failure
        """Return the client's results; wait at most `wait_s` for one."""
        return self.client.arrived(wait_s)

    def _send_again(self) -> None:
        """Repeat all pending requests."""
        for slot in self._asked:
            self._unsend(slot)
            self._send(slot)

    def _send(self, slot: int) -> None:
        asked = self._asked[slot]
        self._tickets[self.client.send(self._api.path, asked.body, asked.tokens)] = slot

    def _unsend(self, slot: int) -> None:
        for ticket in [ticket for ticket, of in self._tickets.items() if of == slot]:
            self.client.cancel(ticket)
            del self._tickets[ticket]

    def _trimmed(self, body: dict[str, Any]) -> dict[str, Any]:
        """Remove fields that the server rejects: as configured, and tool settings without tools."""
        left_out = {*self._config.leave_out, *(() if "tools" in body else _OF_TOOLS)}
        return {key: value for key, value in body.items() if key not in left_out}

    def _read(self, slot: int, asked: _Asked, value: Any) -> Reply | EpisodeFailure:  # Any: JSON, or a failure
        try:
            if isinstance(value, ServerRefusal) and any(word in value.body for word in _TOO_LONG):
                return self._api.full(slot, asked.request, asked.version)
            if isinstance(value, ModelFailure):
                return value
            reply = self._api.read(slot, asked.request, value, asked.version)
            if (counted := tokens_of(value)) is None:
                return reply
            self.tokens_processed += counted[0] - counted[1] + counted[2]
            return replace(reply, tokens=self.client.tally.priced(*counted))
        except ModelFailure as failure:
            return failure
