"""Sessions under asyncio: many at once within a bound, fair between owners, and whole after cancellation."""

from __future__ import annotations

import asyncio
import threading

import pytest

from cairn.sandboxes.asynchronous import AsyncPool
from cairn.sandboxes.base import FileRefused, Limits
from cairn.sandboxes.pool import SessionPool
from tests.sandboxes.usable import usable


def new_pool(at_once: int) -> AsyncPool:
    return AsyncPool(SessionPool(usable("bubblewrap"), Limits(wall_s=5)), at_once=at_once)


def test_everything_that_a_session_can() -> None:
    async def work() -> None:
        pool = new_pool(2)
        async with pool.lease() as session:
            await session.write_file("a", "x")
            before = await session.snapshot()
            assert (await session.run(["cat", "a"])).stdout == b"x"
            assert (await session.run_python("print(2)")).stdout == b"2\n"
            await session.start_program("import os\nos.write(3, b'hello\\n')\nos.read(3, 9)")
            assert (await session.send_line("x")).line == "hello"
            await session.write_file("a", "y")
            await session.restore(before)
            assert await session.read_file("a") == b"x"
            assert [entry.path for entry in await session.list_files()] == ["a"]
            with pytest.raises(FileRefused):
                await session.read_file("../a")
        async with pool.lease() as session:
            assert await session.list_files() == ()
        pool.close()

    asyncio.run(work())


def test_no_more_programs_run_at_once_than_the_bound() -> None:
    async def timed(pool: AsyncPool) -> tuple[float, float]:
        async with pool.lease() as session:
            told = (await session.run(["sh", "-c", "date +%s.%N; sleep 0.2; date +%s.%N"])).stdout.split()
            return float(told[0]), float(told[1])

    async def work() -> list[tuple[float, float]]:
        pool = new_pool(1)
        times = await asyncio.gather(*(timed(pool) for _ in range(3)))
        pool.close()
        return sorted(times)

    first, second, third = asyncio.run(work())
    assert first[1] <= second[0]
    assert second[1] <= third[0]


def test_as_many_turns_are_held_at_once_as_the_bound() -> None:
    """Each ends only when all three are held."""

    async def one(pool: AsyncPool, together: threading.Barrier) -> None:
        async with pool.turn(object()):
            await pool.in_thread(lambda: together.wait(30))

    async def work() -> None:
        pool, together = new_pool(3), threading.Barrier(3)
        await asyncio.gather(*(one(pool, together) for _ in range(3)))
        pool.close()

    asyncio.run(work())


def test_turns_go_round_between_owners() -> None:
    async def work() -> list[str]:
        pool, order = new_pool(1), list[str]()

        async def one(owner: str) -> None:
            async with pool.turn(owner):
                await asyncio.sleep(0.01)
                order.append(owner)

        await asyncio.gather(*(one(owner) for owner in "aaaaabc"))
        pool.close()
        return order

    assert "".join(asyncio.run(work())) == "aabcaaa"


def test_what_is_cancelled_gives_its_turn_and_its_session_back() -> None:
    async def work() -> None:
        pool = new_pool(1)

        async def long() -> None:
            async with pool.lease() as session:
                await session.run(["sleep", "2"])

        async def waiting() -> None:
            async with pool.turn("x"):
                raise AssertionError("it was cancelled")

        task = asyncio.create_task(long())
        while pool._free:  # it has the only turn when its program runs
            await asyncio.sleep(0.01)
        other = asyncio.create_task(waiting())
        await asyncio.sleep(0)
        for each in (other, task):
            each.cancel()
            with pytest.raises(asyncio.CancelledError):
                await each
        async with pool.lease() as session:
            assert (await session.run(["echo", "on"])).stdout == b"on\n"
        pool.close()

    asyncio.run(work())
