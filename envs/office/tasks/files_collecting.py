"""Templates that combine the contents of many files: lines to collect, amounts to add."""

from __future__ import annotations

import random

from cairn.envs.office.fixtures import before, money, put
from cairn.envs.office.task import Plan, TaskTemplate, step
from cairn.envs.office.vocabulary import FILE_NAMES, SENTENCES
from cairn.envs.office.world import World

_TODO_PROGRAM = """
lines = []
for path in sorted(each["path"] for each in every(office.files.list_folder, folder=folder) if each["kind"] == "file"):
    lines += [line for line in office.files.read(path=path)["text"].splitlines() if line.startswith("TODO")]
office.files.write(path=f"{folder}/all-todos.txt", text="\\n".join(lines) + "\\n")
submit()
"""

_SUM_PROGRAM = """
total = 0
for each in every(office.files.list_folder, folder=folder):
    if each["path"].endswith("-draft.csv"):
        continue
    for line in office.files.read(path=each["path"])["text"].splitlines()[1:]:
        kind, amount = line.split(",")
        if kind == wanted:
            total += round(float(amount) * 100)
submit(total)
"""


def _todos(world: World, rng: random.Random) -> Plan:
    folder = f"/Projects/{rng.choice(('Kestrel', 'Lapwing', 'Siskin'))}"
    texts = {}
    for name in rng.sample(FILE_NAMES, 7):
        lines = rng.sample(SENTENCES, 3)
        for _ in range(rng.randint(0, 3)):
            todo = f"TODO {rng.choice(('call', 'ask', 'check', 'pay'))} number {rng.randrange(100, 1000)}"
            lines.insert(rng.randint(0, len(lines)), todo)
        lines.insert(rng.randint(0, len(lines)), f"Not a TODO: {rng.choice(SENTENCES)}")
        texts[f"{folder}/{name}.txt"] = lines
    texts[f"{folder}/zebra.txt"] = ["TODO feed the zebra", "  TODO not at the beginning", "TODO brush the zebra"]
    for path, lines in texts.items():
        put(world, path, "".join(f"{line}\n" for line in lines), before(world, rng, 1, 60))
    put(world, f"{folder}/Old/plan.txt", "TODO nothing any more\n", before(world, rng, 1, 60))
    found = [line for path in sorted(texts) for line in texts[path] if line.startswith("TODO")]
    target = f"{folder}/all-todos.txt"
    return Plan(
        instruction=f"Write the file {target} with every line that begins with 'TODO' from the files that lie "
        f"directly in {folder}, unchanged, one below the other: files in alphabetical order, lines in the order of "
        "the file.",
        steps=(step("files", "write", path=target, text="\n".join(found) + "\n"),),
        program=_TODO_PROGRAM,
        values={"folder": folder},
    )


def _sum(world: World, rng: random.Random) -> Plan:
    folder, total = "/Finance/Journeys", 0
    kinds = ("hotel", "train", "meals", "taxi", "hotel bar")
    wanted = rng.choice(kinds[:4])
    for number in range(rng.randint(22, 28)):
        is_draft = number % 5 == 4
        rows = [(rng.choice(kinds), rng.randrange(500, 30_000)) for _ in range(rng.randint(2, 6))]
        text = "".join(f"{kind},{money(cents)}\n" for kind, cents in [*rows, (wanted, rng.randrange(500, 9_000))])
        path = f"{folder}/journey-{number + 1:02}{'-draft' if is_draft else ''}.csv"
        put(world, path, f"kind,amount\n{text}", before(world, rng, 1, 80))
    for path, file in world.files.files.items():
        if path.startswith(f"{folder}/") and not path.endswith("-draft.csv"):
            amounts = [line.rpartition(",")[2] for line in file.text.splitlines() if line.startswith(f"{wanted},")]
            total += sum(int(amount.replace(".", "")) for amount in amounts)
    return Plan(
        instruction=f"Each file in {folder} lists the costs of a journey, one 'kind,amount' a line after the first. "
        f"Submit the sum of all amounts of the kind {wanted!r}, in whole cents, leaving out files whose names end "
        "in '-draft.csv'.",
        answer=total,
        program=_SUM_PROGRAM,
        values={"folder": folder, "wanted": wanted},
    )


TEMPLATES = (
    TaskTemplate(name="collect-todos", level=2, apps=("files",), make=_todos),
    TaskTemplate(name="sum-journeys", level=2, apps=("files",), make=_sum),
)
