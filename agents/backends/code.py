"""Replies of an agent that is Python code: see `agents.code_agent`. Each call has a thread, or a place in one loop.

An exception, an answer that is not text, and a call that takes too long are the agent's own failures: they end the
episode, which is scored as it stands. A call that is not async cannot be stopped: its thread is left behind.
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

_END_S = 1.0  # that cancelled async calls have to end
_POLL_S = 0.05  # how often limits of time are looked at


class CodeAgentConfig(TurnBackendConfig):
    """Which agent, and how long it may take."""

    agent: str = Field("", description="Its address, package.module:name.")
    call_timeout_s: float = Field(300.0, gt=0, allow_inf_nan=False, description="Seconds of one call.")


class CodeAgentBackend:
    """`agents.backend.Backend` that calls an agent's code."""

    cache_tokens: int | None = None

    def __init__(self, policy: object, sampling: SamplingConfig, config: CodeAgentConfig) -> None:
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
        """Return the answers that have come, and errors in place of those that are late; wait a moment for one."""
        done: list[tuple[int, Reply | EpisodeFailure]] = []
        while True:
            try:
                slot, call, reply = self._answers.get(block=not done, timeout=_POLL_S)
            except queue.Empty:
                break
            if self._calls.get(slot) is call:  # else it was late, or nobody waits for it
                del self._calls[slot]
                done.append((slot, reply))
        now = time.monotonic()
        for slot in [slot for slot, call in self._calls.items() if now > call.deadline]:
            self.abort(slot)
            done.append((slot, text_reply(f"it took longer than {self._timeout_s:g} s", "error")))
        return done

    def so_far(self, slot: int) -> Reply | None:
        """Answers are whole."""
        return None

    def abort(self, slot: int) -> None:
        """Do not wait for the answer; the slot gets another object of the agent's class, since a call may use this."""
        call = self._calls.pop(slot, None)
        self._players.pop(slot, None)
        if call is not None and call.task is not None:
            call.task.cancel()

    def fork(self, source: int, target: int) -> None:
        """Slots hold nothing that can be copied."""

    def pause(self) -> None:
        """Pending calls continue."""

    def resume(self) -> None:
        """Nothing was stopped."""

    def sync_weights(self, version: int) -> None:
        """Store the version; an agent has no weights here."""
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
        assert request.turn_context is not None  # an episode always has one
        try:
            player = self._player(slot)
            reply = text_reply(await player.answer(request.turn_context), "end")
        except (Exception, SystemExit) as error:  # noqa: BLE001  (the boundary to foreign code)
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
    """Stop the loop that runs this once all else in it has ended, or did not although it was cancelled."""
    others = asyncio.all_tasks() - {asyncio.current_task()}
    for task in others:
        task.cancel()
    if others:
        await asyncio.wait(others, timeout=_END_S)
    asyncio.get_running_loop().stop()


BACKEND = (CodeAgentBackend, CodeAgentConfig)
