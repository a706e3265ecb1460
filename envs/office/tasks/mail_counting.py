"""Template that counts portions in a long mail thread, in which people revise their numbers."""

from __future__ import annotations

import random

from cairn.envs.office.clock import later
from cairn.envs.office.fixtures import before, contacts, receive
from cairn.envs.office.task import Plan, TaskTemplate
from cairn.envs.office.world import World

_PROGRAM = """
import re

newest = {}
for mail in every(office.mail.search, query=subject):
    if mail["subject"].endswith(subject) and mail["folder"] in ("inbox", "archive") and mail["sender"] not in newest:
        newest[mail["sender"]] = mail["id"]
bodies = [office.mail.get(mail_id=mail_id)["body"] for mail_id in newest.values()]
submit(sum(int(re.search(r"(\\d+) portions", body).group(1)) for body in bodies))
"""


def _make(world: World, rng: random.Random) -> Plan:
    subject = f"{rng.choice(('Street', 'Office', 'Garden', 'School'))} potluck"
    thread, at, brought = world.new_id("t"), before(world, rng, 10, 30), {}
    people = contacts(world, rng, 9)
    for number in range(rng.randint(22, 30)):
        who, portions = people[number] if number < len(people) else rng.choice(people), rng.randint(2, 19)
        brought[who.address] = portions
        text = f"I bring {portions} portions."
        receive(world, who.address, subject if number == 0 else f"Re: {subject}", text, at, thread=thread)
        at = later(at, rng.randint(5, 200))
    receive(world, people[0].address, f"{subject} last year", "I brought 7 portions.", later(at, 5))
    return Plan(
        instruction=f"In the mail thread {subject!r} everybody writes how many portions they bring; some wrote more "
        "than once, and then their newest mail counts. Submit the number of portions altogether.",
        answer=sum(brought.values()),
        program=_PROGRAM,
        values={"subject": subject},
    )


TEMPLATES = (TaskTemplate(name="count-portions", level=2, apps=("mail",), make=_make),)
