"""Plays MiniWoB++ with BrowserGym, in BrowserGym's own virtual environment, without Cairn.

Takes one argument, JSON (`pages`, `seconds`, `turns`, `hurried`), and prints the fields of `_browsergym.Played`. The
time of an observation includes BrowserGym's observation and the accessibility tree as text. The time of a reset
includes the end of the preceding browser.
"""

from __future__ import annotations

import importlib
import importlib.util
import itertools
import json
import os
import random
import re
import sys
import time
from pathlib import Path
from typing import Any

_CHROMIUM = ("chrome", "chromium")


def main(asked: dict[str, Any]) -> None:  # Any: JSON
    """Play, and print the results."""
    spec = importlib.util.find_spec("miniwob")
    assert spec is not None
    assert spec.origin is not None
    os.environ["MINIWOB_URL"] = f"{(Path(spec.origin).parent / 'html' / 'miniwob').as_uri()}/"
    importlib.import_module("browsergym.miniwob")
    make = importlib.import_module("gymnasium").make
    waits = {"slow_mo": 0, "pre_observation_delay": 0.0} if asked["hurried"] else {}
    envs = [
        make(f"browsergym/miniwob.{page}", headless=True, disable_env_checker=True, **waits) for page in asked["pages"]
    ]
    envs[0].reset(seed=0)  # starts Playwright
    played = Player(asked["turns"])
    until = time.perf_counter() + asked["seconds"]
    for count, env in enumerate(itertools.cycle(envs)):
        if time.perf_counter() >= until and count >= len(envs):
            break
        played.episode(env)
    print(json.dumps(played.found()))
    sys.stdout.flush()
    os._exit(0)  # its Playwright does not exit cleanly in all Python versions


class Player:
    """Plays episodes and measures them."""

    def __init__(self, turns: int) -> None:
        self._text = importlib.import_module("browsergym.utils.obs").flatten_axtree_to_str
        self._turns, self._rng = turns, random.Random(0)
        self._steps, self._resets, self._step_s, self._reset_s = 0, 0, 0.0, 0.0
        self._characters: list[int] = []
        self._memory_mb = 0.0

    def episode(self, env: Any) -> None:  # Any: BrowserGym is not installed for type checks
        """Play one episode, alternately without an action and with a click."""
        began = time.perf_counter()
        seen, _ = env.reset(seed=0)
        text = self._text(seen["axtree_object"])
        self._reset_s += time.perf_counter() - began
        self._resets += 1
        self._memory_mb = max(self._memory_mb, chromium_mb())
        for turn in range(self._turns):
            self._characters.append(len(text))
            bids = _in_sight(seen, text)
            action = f"click({self._rng.choice(bids)!r})" if bids and turn % 2 else "noop(0)"
            began = time.perf_counter()
            seen, _, terminated, truncated, _ = env.step(action)
            text = self._text(seen["axtree_object"])
            self._step_s += time.perf_counter() - began
            self._steps += 1
            if terminated or truncated:
                break
        began = time.perf_counter()
        env.unwrapped.close()  # as in its own reset
        self._reset_s += time.perf_counter() - began

    def found(self) -> dict[str, float]:
        """Return the measurements."""
        return {
            "steps": self._steps,
            "step_s": self._step_s,
            "resets": self._resets,
            "reset_s": self._reset_s,
            "characters": sum(self._characters) / len(self._characters),
            "memory_mb": self._memory_mb,
        }


def _in_sight(seen: dict[str, Any], text: str) -> list[str]:  # Any: BrowserGym's observation
    known = seen["extra_element_properties"]
    return [bid for bid in re.findall(r"\[(\w+)\]", text) if known.get(bid, {}).get("visibility", 0) >= 0.5]


def chromium_mb() -> float:
    """Return the memory of this process's Chromium processes: their private memory."""
    parents, sizes = {}, {}
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit():
            try:
                name, _, rest = (folder / "stat").read_text().partition("(")[2].rpartition(")")
                _, resident, shared, *_ = (folder / "statm").read_text().split()
            except OSError:  # the process has ended
                continue
            parents[int(folder.name)] = int(rest.split()[1])
            if name.startswith(_CHROMIUM):
                sizes[int(folder.name)] = (int(resident) - int(shared)) * os.sysconf("SC_PAGE_SIZE") / 2**20
    return sum(size for pid, size in sizes.items() if _is_ours(pid, parents))


def _is_ours(pid: int, parents: dict[int, int]) -> bool:
    while pid in parents and pid != os.getpid():
        pid = parents[pid]
    return pid == os.getpid()


if __name__ == "__main__":
    main(json.loads(sys.argv[1]))
