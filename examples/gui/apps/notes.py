"""An application in one file: its data, its pages, and the actions of a person. It belongs into `envs/gui/apps`."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import ClassVar

from cairn.envs.gui.locate import everything, turn_to
from cairn.envs.gui.parts import Bar, Button, Field, Form, Link, Page, Prose, Row, Table, pager
from cairn.envs.gui.site import Place, Site, Visit, doing
from cairn.envs.gui.ui_actions import Deed, click, fill, goto
from cairn.envs.office.app import App, find
from cairn.envs.office.calls import Limit, Line, Offset, call, page
from cairn.envs.office.task import Step
from cairn.envs.office.world import World

COLOURS = ("amber", "blue", "coral", "green")


@dataclass(frozen=True, kw_only=True, slots=True)
class Memo:
    """A line to remember."""

    id: str
    text: str
    is_done: bool = False


class Notes(App):
    """Lines to remember, which are ticked off."""

    name = "notes"
    tables: ClassVar[tuple[str, ...]] = ("notes",)
    derived: ClassVar = {"notes": frozenset({"id"})}
    titles: ClassVar = {"notes": "text"}
    notes: dict[str, Memo]

    @call
    def list_notes(self, *, limit: Limit = 20, offset: Offset = 0) -> dict[str, object]:
        """List the notes, the oldest first.

        Example: {"items": [{"id": "n-80c1f", "text": "Buy milk", "is_done": false}], "total": 1, "next_offset": null}
        """
        items = ({"id": each.id, "text": each.text, "is_done": each.is_done} for each in self.notes.values())
        return page(items, limit, offset)

    @call
    def write(self, *, text: Line) -> dict[str, object]:
        """Write a note.

        Example: {"id": "n-80c1f"}
        """
        note = Memo(id=self.world.new_id("n"), text=text)
        self.notes[note.id] = note
        return {"id": note.id}

    @call
    def tick(self, *, note_id: str) -> dict[str, object]:
        """Say that a note is done.

        Example: {"id": "n-80c1f"}
        """
        note = find(self.notes, note_id, "note", "notes.list_notes lists them")
        self.notes[note_id] = replace(note, is_done=True)
        return {"id": note_id}


def _furnish(world: World, rng: random.Random) -> None:
    for number in range(rng.randint(12, 15)):
        world.apps["notes"].perform("write", {"text": f"Paint wall {number + 1} {rng.choice(COLOURS)}"})


def _list(visit: Visit) -> Page:
    found = visit.listed("notes", "list_notes")
    rows = [Row(cells=(Link(text=each["text"], to=f"/note/{each['id']}"),)) for each in found["items"]]
    write = Form(to="/", submits=(("", "Write"),), fields=(Field(label="New note", name="text"),))
    return Page(title="Notes", parts=(Table(caption="Notes", columns=("Note",), rows=rows),
                                      pager("/", found["total"], visit.page()), write))  # fmt: skip


def _note(visit: Visit) -> Page:
    note = next(each for each in visit.everything("notes", "list_notes") if each["id"] == visit.path["id"])
    tick = Button(text="Tick off", to=f"/note/{note['id']}")
    return Page(title=note["text"], parts=(Prose(text="Done." if note["is_done"] else "To do."), Bar(buttons=(tick,))))


def _how_write(world: World, step: Step) -> Iterator[Deed]:
    yield goto("http://notes/")
    yield fill("New note", str(step.arguments["text"]))
    yield click("button", "Write")


def _how_tick(world: World, step: Step) -> Iterator[Deed]:
    yield goto("http://notes/")
    notes = everything(world, "notes", "list_notes")
    name = yield from turn_to(notes, lambda each: each["id"] == step.arguments["note_id"], lambda each: each["text"])
    yield click("link", name)
    yield click("button", "Tick off")


APP = Site(
    name="notes",
    title="Notes",
    places=(
        Place(path="/", show=_list, do=doing("notes", "write", "/"), message="Written."),
        Place(path="/note/{id}", show=_note, do=doing("notes", "tick", "/", note_id="id"), message="Ticked off."),
    ),
    how={"write": _how_write, "tick": _how_tick},
    data=Notes,
    furnish=_furnish,
)
