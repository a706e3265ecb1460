"""Replies of an agent that is Python code (see `agents.code_agent`).

Each call of a synchronous agent runs in its own thread; all calls of an async agent share one event loop. An exception,
an answer that is not text, or a timeout is the agent's own failure: it ends the episode, which keeps its current score.
A synchronous call cannot be stopped; its thread is abandoned.
"""

from __future__ import annotations

import asyncio
import queue
import threading
import time
from concurrent.futures import Future
from dataclasses import dataclass

from pydantic import Field

from cairn.agents.backend import Reply, Request, text_reply
from cairn.agents.code_agent import CodeAgent, CodePlayer, code_agent
from cairn.agents.config import SamplingConfig, TurnBackendConfig
from cairn.core.errors import EpisodeFailure
from cairn.core.plugins import Plugin

_END_S = 1.0  # seconds for cancelled async calls to end
_POLL_S = 0.05  # interval of the timeout checks


class CodeAgentConfig(TurnBackendConfig):
    """The agent and the timeout of its calls."""

    agent: str = Field("", description="Its address, package.module:name.")
    call_timeout_s: float = Field(300.0, gt=0, allow_inf_nan=False, description="Seconds of one call.")


class CodeAgentBackend:
    """`agents.backend.Backend` that calls an agent's code."""

    cache_tokens: int | None = None

    def __init__(self, config: CodeAgentConfig, policy: object, sampling: SamplingConfig) -> None:
        self.num_slots, self.version, self.tokens_processed = sampling.slots, 0, 0
        self._agent = policy if isinstance(policy, CodeAgent) else code_agent(config.agent)
        self._timeout_s = config.call_timeout_s
        self._players: dict[int, CodePlayer] = {}  # by slot
        self._calls: dict[int, _Call] = {}  # by slot
        self._answers: queue.SimpleQueue[tuple[int, _Call, Reply]] = queue.SimpleQueue()
        self._loop = _started_loop() if self._agent.is_async else None

    def submit(self, slot: int, request: Request) -> None:
        """Call the agent for this slot; see `agents.backend.Backend`."""
        self._calls[slot] = call = _Call(deadline=time.monotonic() + self._timeout_s)
        answering = self._answer(slot, call, request)
        if self._loop is None:
            threading.Thread(target=asyncio.run, args=(answering,), name=f"agent in slot {slot}", daemon=True).start()
        else:
            call.task = asyncio.run_coroutine_threadsafe(answering, self._loop)

    def step(self) -> list[tuple[int, Reply | EpisodeFailure]]:
        """Return finished answers, and errors for timed-out calls; wait briefly for one."""
        done: list[tuple[int, Reply | EpisodeFailure]] = []
        while True:
            try:
                slot, call, reply = self._answers.get(block=not done, timeout=_POLL_S)
            except queue.Empty:
                break
            if self._calls.get(slot) is call:  # else it timed out or was aborted
                del self._calls[slot]
                done.append((slot, reply))
        now = time.monotonic()
        for slot in [slot for slot, call in self._calls.items() if now > call.deadline]:
            self.abort(slot)
            done.append((slot, text_reply(f"it took longer than {self._timeout_s:g} s", "error")))
        return done

    def so_far(self, slot: int) -> Reply | None:
        """Return None: there are no partial replies."""
        return None

    def abort(self, slot: int) -> None:
        """Abandon the call.

        The slot's next call uses a new instance of the agent, since the abandoned call may still use the current one.
        """
        call = self._calls.pop(slot, None)
        self._players.pop(slot, None)
        if call is not None and call.task is not None:
            call.task.cancel()

    def fork(self, source: int, target: int) -> None:
        """Do nothing: slots hold no state that can be copied."""

    def sync_weights(self, version: int) -> None:
        """Store the version; a code agent has no weights."""
        self.version = version

    def close(self) -> None:
        """Abandon pending calls and end the event loop; running threads end by themselves."""
        for slot in list(self._calls):
            self.abort(slot)
        if self._loop is not None:
            asyncio.run_coroutine_threadsafe(_end(), self._loop)
            self._loop = None

    def _player(self, slot: int) -> CodePlayer:
        if slot not in self._players:
            self._players[slot] = self._agent.player()
        return self._players[slot]

    async def _answer(self, slot: int, call: _Call, request: Request) -> None:
        assert request.turn_context is not None  # episodes always set it
        try:
            player = self._player(slot)
            reply = text_reply(await player.answer(request.turn_context), "end")
        except (Exception, SystemExit) as error:  # noqa: BLE001  (boundary to user code)
            reply = text_reply(f"{type(error).__name__}: {error}", "error")
        self._answers.put((slot, call, reply))


@dataclass(eq=False)
class _Call:
    """A pending call."""

    deadline: float  # by the monotonic clock
    task: Future[None] | None = None  # of async code


def _started_loop() -> asyncio.AbstractEventLoop:
    loop = asyncio.new_event_loop()

    def run() -> None:
        loop.run_forever()
        loop.close()

    threading.Thread(target=run, name="async agents", daemon=True).start()
    return loop


async def _end() -> None:
    """Cancel all other tasks, wait briefly for them to end, and stop the event loop."""
    others = asyncio.all_tasks() - {asyncio.current_task()}
    for task in others:
        task.cancel()
    if others:
        await asyncio.wait(others, timeout=_END_S)
    asyncio.get_running_loop().stop()


BACKEND = Plugin(CodeAgentConfig, CodeAgentBackend)
