"""Templates that move or delete files by their names."""

from __future__ import annotations

import random

from cairn.envs.office.clock import day_of, days_later
from cairn.envs.office.fixtures import before, put
from cairn.envs.office.task import Plan, TaskTemplate, step
from cairn.envs.office.world import World

_ARCHIVE_PROGRAM = """
files = [each["path"] for each in every(office.files.list_folder, folder=folder) if each["kind"] == "file"]
office.files.make_folder(path=target)
for path in files:
    name = path.split("/")[-1]
    if name.startswith(f"scan-{month}-"):
        office.files.move(path=path, to=f"{target}/{name}")
submit()
"""

_BACKUP_PROGRAM = """
kept = {}
files = [each["path"] for each in every(office.files.list_folder, folder=folder)]
for path in sorted(files, key=lambda path: path[-14:], reverse=True):
    name = path[:-15]
    kept[name] = kept.get(name, 0) + 1
    if kept[name] > 2:
        office.files.delete(path=path)
submit()
"""


def _archive(world: World, rng: random.Random) -> Plan:
    folder, today = "/Scans", day_of(world.now)
    months = [days_later(today[:7] + "-01", -28 * back)[:7] for back in (3, 6)]
    wanted, target = [], f"/Scans/{months[0]}"
    for number in range(rng.randint(24, 30)):
        month = months[number % 3 == 0]
        name = f"scan-{month}-{number + 1:02}.txt"
        put(world, f"{folder}/{name}", f"Scanned page {rng.randrange(1000)}.\n", before(world, rng, 1, 60))
        if month == months[0]:
            wanted.append(name)
    for path in (f"{folder}/scans-{months[0]}.txt", f"/Documents/scan-{months[0]}-01.txt", f"{folder}/old scan.txt"):
        put(world, path, "A list of scans.\n", before(world, rng, 1, 60))
    moves = (step("files", "move", path=f"{folder}/{name}", to=f"{target}/{name}") for name in wanted)
    return Plan(
        instruction=f"Make the folder {target} and move there all files that lie directly in {folder} and whose "
        f"names begin with 'scan-{months[0]}-'; they keep their names.",
        steps=(step("files", "make_folder", path=target), *moves),
        program=_ARCHIVE_PROGRAM,
        values={"folder": folder, "month": months[0], "target": target},
    )


def _backups(world: World, rng: random.Random) -> Plan:
    folder, wanted = "/Backups", []
    for name in rng.sample(("address-book", "address-book-old", "diary", "ledger", "photos", "novel"), 4):
        days = sorted({days_later(day_of(world.now), -rng.randint(2, 300)) for _ in range(rng.randint(4, 8))})
        paths = [f"{folder}/{name}-{day}.txt" for day in days]
        for path in paths:
            put(world, path, f"Copy {rng.randrange(10_000)}.\n", before(world, rng, 1, 30))
        wanted += paths[:-2]
    return Plan(
        instruction=f"The files in {folder} are called NAME-YYYY-MM-DD.txt. Of each NAME, keep the two with the "
        "newest days in their names, and delete the others.",
        steps=tuple(step("files", "delete", path=path) for path in wanted),
        program=_BACKUP_PROGRAM,
        values={"folder": folder},
    )


TEMPLATES = (
    TaskTemplate(name="archive-scans", level=1, apps=("files",), make=_archive),
    TaskTemplate(name="delete-old-backups", level=2, apps=("files",), make=_backups),
)
