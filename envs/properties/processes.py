"""Properties that need other processes or many resets: equal episodes, and no leaks."""

from __future__ import annotations

import ctypes
import gc
import os
import threading
from pathlib import Path

from cairn.envs.pool.pool import EnvHandle, EnvPool, PoolConfig
from cairn.envs.properties.sameness import actions_of, require_equal
from cairn.envs.properties.subject import Frame, Subject, explore, play, require

NUM_RESETS = 1000
RESETS_PER_FILE = 50  # resets per file descriptor that may stay open: connections vary, but leaks exceed this
MAX_GROWTH_BYTES = 8 << 20  # over NUM_RESETS


def other_process(subject: Subject) -> str:
    """Another process, under another PYTHONHASHSEED, plays the same episode."""
    if not subject.env.meta.is_deterministic:
        return "not promised by this environment"
    here = {
        (task, seed): list(play(subject.env, task, seed, explore("elsewhere", seed), 25))
        for task, seed in subject.episodes(6)
    }
    hash_seeds = ("1", "4242")
    for hash_seed in hash_seeds:
        pool = EnvPool(subject.env_id, subject.config, PoolConfig(kind="processes"), {"PYTHONHASHSEED": hash_seed})
        with pool, pool.lease() as there:
            require(there.tasks() == list(subject.env.tasks()), f"PYTHONHASHSEED={hash_seed}: tasks() differs")
            for (task, seed), frames in here.items():
                again = _play_there(there, task, seed, actions_of(frames))
                require_equal(frames, again, f"task {task!r}, seed {seed}, PYTHONHASHSEED={hash_seed}")
    return f"{len(here)} episodes under {len(hash_seeds)} hash seeds"


def _play_there(env: EnvHandle, task: str, seed: int, actions: list[str]) -> list[Frame]:
    text, info = env.reset(seed=seed, options={"task": task})
    frames = [Frame(action=None, text=text, reward=0.0, is_terminated=False, is_truncated=False, info=info)]
    for action in actions:
        text, reward, is_terminated, is_truncated, info = env.step(action)
        frames.append(
            Frame(
                action=action,
                text=text,
                reward=reward,
                is_terminated=is_terminated,
                is_truncated=is_truncated,
                info=info,
            )
        )
    return frames


def leaks(subject: Subject) -> str:
    """Resets, each followed by an action, leak no memory, files or threads.

    A full check makes a thousand resets.
    """
    episodes = subject.episodes(8)
    num_resets = subject.scaled(NUM_RESETS)
    for round_ in range(num_resets // 4):  # data that is loaded once and kept is not a leak
        _touch(subject, episodes[round_ % len(episodes)])
    memory, files, threads = _resident_bytes(), _open_files(), threading.active_count()
    for round_ in range(num_resets):
        _touch(subject, episodes[round_ % len(episodes)])
    growth = _resident_bytes() - memory
    require(growth <= MAX_GROWTH_BYTES, f"memory grew by {growth >> 10} KiB over {num_resets} resets")
    more = _open_files() - files - num_resets // RESETS_PER_FILE
    require(more <= 0, f"open files went from {files} to {_open_files()} over {num_resets} resets")
    require(threading.active_count() <= threads, f"threads went from {threads} to {threading.active_count()}")
    return f"{num_resets} resets, {growth >> 10} KiB"


def _touch(subject: Subject, episode: tuple[str, int]) -> None:
    task, seed = episode
    subject.env.reset(seed=seed, options={"task": task})
    subject.env.step("look")


def _resident_bytes() -> int:
    """Return the resident memory in bytes; 0 on systems without /proc.

    Freed memory is first returned to the system (glibc): otherwise a later leak could reuse it without growth.
    """
    gc.collect()
    if trim := getattr(ctypes.CDLL(None), "malloc_trim", None):
        trim(0)
    statm = Path("/proc/self/statm")
    return int(statm.read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") if statm.exists() else 0


def _open_files() -> int:
    folder = Path("/proc/self/fd")
    return len(list(folder.iterdir())) if folder.exists() else 0
