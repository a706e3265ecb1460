"""Kinds of tasks in one file. It belongs into `envs/gui/tasks`; `examples/gui/apps/notes.py` is the application."""

from __future__ import annotations

import random

from cairn.envs.gui.task import simple
from cairn.envs.office.task import Plan, step
from cairn.envs.office.world import World


def _write(world: World, rng: random.Random) -> Plan:
    text = f"Call {rng.choice(('Orla', 'Pim', 'Romy'))} at {rng.randint(8, 17)}:30"
    return Plan(instruction=f"Write a note: {text}", steps=(step("notes", "write", text=text),))


def _tick(world: World, rng: random.Random) -> Plan:
    notes = world.apps["notes"].table("notes")
    chosen = rng.choice(sorted(notes))
    return Plan(
        instruction=f"I have done this: {notes[chosen].text}. Tick it off.",
        steps=(step("notes", "tick", note_id=chosen),),
    )


TEMPLATES = (simple("note-write", 1, "notes", _write), simple("note-tick", 2, "notes", _tick))
