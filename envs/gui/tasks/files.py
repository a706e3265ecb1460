"""Tasks in the files: write, rename, sort, share and delete, and look up information."""

from __future__ import annotations

import random
from dataclasses import replace

from cairn.envs.gui.task import simple
from cairn.envs.office.clock import day_of, days_later
from cairn.envs.office.fixtures import before, contacts, put
from cairn.envs.office.task import Plan, Step, step
from cairn.envs.office.world import World

_NAMES = ("orchard", "lighthouse", "cellar", "workshop", "greenhouse", "boathouse")


def _rename(world: World, rng: random.Random) -> Plan:
    name, other = rng.sample(_NAMES, 2)
    put(world, f"/Notes/{name}.txt", "Bring a torch.\n", before(world, rng, 1, 9))
    return Plan(
        instruction=f"Rename the file {name}.txt in the folder /Notes to {other}-old.txt.",
        steps=(step("files", "move", path=f"/Notes/{name}.txt", to=f"/Notes/{other}-old.txt"),),
    )


def _write(world: World, rng: random.Random) -> Plan:
    name, number = rng.choice(_NAMES), rng.randrange(100, 1000)
    text = f"Key number {number}"
    return Plan(
        instruction=f"Make a file {name}.txt in the folder /Projects with the single line {text!r}.",
        steps=(step("files", "write", path=f"/Projects/{name}.txt", text=f"{text}\n"),),
    )


def _delete(world: World, rng: random.Random) -> Plan:
    name = rng.choice(_NAMES)
    for suffix in ("", "-final", "-final-2"):
        put(world, f"/Shared/{name}{suffix}.txt", "Version.\n", before(world, rng, 1, 9))
    return Plan(
        instruction=f"Delete the file {name}-final.txt in the folder /Shared.",
        steps=(step("files", "delete", path=f"/Shared/{name}-final.txt"),),
    )


def _share(world: World, rng: random.Random) -> Plan:
    name, (who,) = rng.choice(_NAMES), contacts(world, rng, 1)
    put(world, f"/Documents/{name}.txt", "Plan.\n", before(world, rng, 1, 9))
    return Plan(
        instruction=f"Share the file /Documents/{name}.txt with {who.address}.",
        steps=(step("files", "share", path=f"/Documents/{name}.txt", address=who.address),),
    )


def _append(world: World, rng: random.Random) -> Plan:
    name, number = rng.choice(_NAMES), rng.randrange(2, 30)
    put(world, f"/Projects/Heron/{name}.txt", "Nails: 200\nBoards: 12\n", before(world, rng, 1, 9))
    put(world, f"/Projects/Otter/{name}.txt", "Nails: 100\nBeams: 3\n", before(world, rng, 1, 9))
    path = f"/Projects/Otter/{name}.txt"
    return Plan(
        instruction=f"There are two files {name}.txt below /Projects. Add the line 'Hinges: {number}' at the end of "
        "the one that lists beams.",
        steps=(step("files", "append", path=path, text=f"Hinges: {number}\n"),),
    )


def _replace(world: World, rng: random.Random) -> Plan:
    name, old, new = rng.choice(_NAMES), rng.randrange(100, 500), rng.randrange(500, 900)
    lines = "Opening hours: 9 to 17\nPhone: {}\nAsk for Mr Quill\n"
    path = f"/Documents/Letters/{name}.txt"
    put(world, path, lines.format(old), before(world, rng, 1, 9))
    return Plan(
        instruction=f"In the file {path} the phone number is now {new}. Correct it, and leave the rest as it is.",
        steps=(step("files", "write", path=path, text=lines.format(new), overwrite=True),),
    )


def _copy(world: World, rng: random.Random) -> Plan:
    name = rng.choice(_NAMES)
    put(world, f"/Finance/Receipts/{name}.txt", "Paid.\n", before(world, rng, 1, 9))
    return Plan(
        instruction=f"Put a copy of the file {name}.txt, which lies somewhere below /Finance, into the folder /Shared "
        "under the same name.",
        steps=(step("files", "copy", path=f"/Finance/Receipts/{name}.txt", to=f"/Shared/{name}.txt"),),
    )


def _read(world: World, rng: random.Random) -> Plan:
    name, number = rng.choice(_NAMES), rng.randrange(1_000, 10_000)
    put(world, f"/Recipes/{name}.txt", f"Oven first.\nBatch number {number}\n", before(world, rng, 1, 9))
    put(world, f"/Notes/{name}s.txt", f"Batch number {number + 1}\n", before(world, rng, 1, 9))
    return Plan(
        instruction=f"Which batch number is in the file {name}.txt? Search for it; send me the number alone.",
        answer=number,
        looks=(step("files", "read", path=f"/Recipes/{name}.txt"),),
    )


def _unshare(world: World, rng: random.Random) -> Plan:
    name, people = rng.choice(_NAMES), contacts(world, rng, 4)
    path, has = f"/Shared/{name}.txt", sorted(each.address for each in people)
    file = put(world, path, "Plan.\n", before(world, rng, 1, 9))
    world.files.files[path] = replace(file, shared_with=tuple(has))
    kept = rng.choice(has)
    return Plan(
        instruction=f"The file {path} should be shared with {kept} and nobody else.",
        steps=tuple(step("files", "unshare", path=path, address=each) for each in has if each != kept),
    )


def _sort(world: World, rng: random.Random) -> Plan:
    folder, old = "/Projects/Minutes", "/Projects/Minutes/old"
    day, steps = days_later(day_of(world.now), -30), [step("files", "make_folder", path=old)]
    for number, name in enumerate(rng.sample(_NAMES, 5)):
        at = f"{days_later(day, (-5, 3, -1, 8, -20)[number])}T12:00"
        put(world, f"{folder}/{name}.txt", "Present: all.\n", at)
        if at[:10] < day:
            steps.append(step("files", "move", path=f"{folder}/{name}.txt", to=f"{old}/{name}.txt"))
    return Plan(
        instruction=f"Make a folder 'old' in {folder}, and move the files of {folder} into it that were last changed "
        f"before {day}.",
        steps=tuple(steps),
    )


def _collect(world: World, rng: random.Random) -> Plan:
    folder, lines = "/Projects/Votes", []
    for name in sorted(rng.sample(_NAMES, 3)):
        number = rng.randrange(1, 60)
        put(world, f"{folder}/{name}.txt", f"Counted twice.\nVotes: {number}\nThanks!\n", before(world, rng, 1, 9))
        lines.append(f"{name}: {number}")
    text = "".join(f"{line}\n" for line in lines)
    return Plan(
        instruction=f"Each file in {folder} contains a number of votes. Make a file all.txt in the same folder that "
        "has for each of them a line like 'name: number', with the file's name without .txt, in alphabetical order.",
        steps=(step("files", "write", path=f"{folder}/all.txt", text=text),),
    )


def _clear(world: World, rng: random.Random) -> Plan:
    folder, steps = "/Projects/Leftovers", list[Step]()
    for number, name in enumerate(rng.sample(_NAMES, 4)):
        path = f"{folder}/{name}{'-draft' if number % 2 else ''}.txt"
        put(world, path, "Text.\n", before(world, rng, 1, 9))
        to = f"/Projects/{name}.txt"
        delete = step("files", "delete", path=path)
        steps.append(delete if number % 2 else step("files", "move", path=path, to=to))
    steps.append(step("files", "delete", path=folder))
    return Plan(
        instruction=f"Clear the folder {folder}: delete the files whose names end in -draft.txt, move the others to "
        "/Projects, and then delete the folder itself.",
        steps=tuple(steps),
    )


TEMPLATES = (
    simple("files-rename", 1, "files", _rename),
    simple("files-write", 1, "files", _write),
    simple("files-delete", 1, "files", _delete),
    simple("files-share", 1, "files", _share),
    simple("files-add-line", 2, "files", _append),
    simple("files-correct", 2, "files", _replace),
    simple("files-copy", 2, "files", _copy),
    simple("files-read", 2, "files", _read),
    simple("files-unshare", 2, "files", _unshare),
    simple("files-sort-by-day", 3, "files", _sort),
    simple("files-collect", 3, "files", _collect),
    simple("files-clear-folder", 3, "files", _clear),
)
