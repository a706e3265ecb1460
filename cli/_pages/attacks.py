"""Writes docs/attacks.md: hostile programs, and which sandboxes promise to stop them."""

from __future__ import annotations

from cairn.core.plugins import SANDBOXES
from cairn.sandboxes.attacks.attack import Attack, attacks

_INTRODUCTION = """# Attacks on sandboxes

Written by `cairn plugins --attacks` from `sandboxes/attacks/programs`. `tests/sandboxes/attacks` tries each of them on
every kind of sandbox that works on the machine, and `cairn doctor --sandbox` on yours. "Held": it does not reach
its target, leaves nothing for the next program, and the session continues; with names of limits: one of these ends it
and is reported. "Not promised": nothing prevents it, and it is not tried.

The table holds for root and for ordinary users, with and without control groups. Differences:

- Root, and control groups can be made: the kernel limits a session's memory, processes and CPUs together. Each session
  has a user of its own.
- Control groups cannot be made: the supervisor adds up memory and processes fifty times a second, so a program can
  exceed these limits for some milliseconds before it is ended. CPU time of children whose parent ignores their end is
  not counted.
- An ordinary user: sessions run as that user. `bubblewrap` keeps them apart by namespaces, `process` does not, and
  `landlock` is refused.

Files in memory (`memfd_create`) belong to no process, so only a control group can count them: `bubblewrap` and
`landlock` refuse them, with and without one.

"""


def page() -> str:
    """Return the page."""
    kinds = SANDBOXES.ids()
    lines = [("attack", "aims to", *kinds), ("---",) * (2 + len(kinds))]
    lines += [(attack.name, attack.aim, *(_expected_outcome(attack, kind) for kind in kinds)) for attack in attacks()]
    return _INTRODUCTION + "\n".join(f"| {' | '.join(line)} |" for line in lines) + "\n"


def _expected_outcome(attack: Attack, kind: str) -> str:
    if kind in attack.open_to:
        return "not promised"
    return f"held: {', '.join(sorted(attack.limits))}" if attack.limits else "held"
