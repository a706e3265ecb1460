"""Templates that label or delete mails by sender, day and label."""

from __future__ import annotations

import random

from cairn.envs.office.clock import day_of, days_later
from cairn.envs.office.fixtures import before, namesakes, receive
from cairn.envs.office.task import Plan, TaskTemplate, step
from cairn.envs.office.vocabulary import LABELS, MAIL_TOPICS
from cairn.envs.office.world import World

_LABEL_PROGRAM = """
for address in person(who)["emails"]:
    for mail in every(office.mail.search, folder="inbox", sender=address, since=since):
        office.mail.add_label(mail_id=mail["id"], label=label)
submit()
"""

_TRASH_PROGRAM = """
for mail in every(office.mail.search, folder="inbox", sender=sender):
    if mail["sent_at"][:10] < day and kept not in mail["labels"]:
        office.mail.move(mail_id=mail["id"], folder="trash")
submit()
"""


def _label(world: World, rng: random.Random) -> Plan:
    who, other = namesakes(world, rng)
    since, label = days_later(day_of(world.now), -30), rng.choice(("follow-up", "priority", "to answer"))
    for sender in (who.emails[0], who.emails[-1], who.emails[0], other.emails[0], other.emails[0]):
        receive(world, sender, rng.choice(MAIL_TOPICS), "Could you look at this?", before(world, rng, 1, 29))
    receive(world, who.address, rng.choice(MAIL_TOPICS), "Could you look at this?", before(world, rng, 31, 33))
    receive(world, who.address, "Old plans", "Never mind.", before(world, rng, 1, 29), folder="archive")
    wanted = [
        mail.id
        for mail in world.mail.mails.values()
        if mail.folder == "inbox" and mail.sender in who.emails and day_of(mail.sent_at) >= since
    ]
    return Plan(
        instruction=f"Put the label {label!r} on every mail in my inbox that {who.name} sent me on {since} or "
        "later, from any of the addresses that my contacts have. Leave the mails in other folders as they are.",
        steps=tuple(step("mail", "add_label", mail_id=mail_id, label=label) for mail_id in wanted),
        program=_LABEL_PROGRAM,
        values={"who": who.name, "since": since, "label": label},
    )


def _trash(world: World, rng: random.Random) -> Plan:
    sender, kept = f"news@{rng.choice(('daily', 'weekly', 'city'))}letter.example", rng.choice(LABELS)
    day = days_later(day_of(world.now), -rng.randint(20, 40))
    for number in range(rng.randint(22, 30)):
        labels = {kept} if number % 4 == 0 else set(rng.sample(LABELS, 1)) - {kept}
        receive(world, sender, f"News, issue {number + 1}", "All the news.", before(world, rng, 1, 80), labels=labels)
    receive(world, sender, "Welcome", "You subscribed.", f"{days_later(day, -1)}T23:59")
    receive(world, sender, "A vote", "Please vote.", f"{day}T00:00")
    receive(world, f"old{sender}", "News", "From the old address.", f"{days_later(day, -9)}T10:00")
    wanted = [
        mail.id
        for mail in world.mail.mails.values()
        if mail.sender == sender and mail.folder == "inbox" and day_of(mail.sent_at) < day and kept not in mail.labels
    ]
    return Plan(
        instruction=f"Move every mail from {sender} that is in my inbox and came before {day} to the trash, except "
        f"those with the label {kept!r}.",
        steps=tuple(step("mail", "move", mail_id=mail_id, folder="trash") for mail_id in wanted),
        program=_TRASH_PROGRAM,
        values={"sender": sender, "day": day, "kept": kept},
    )


TEMPLATES = (
    TaskTemplate(name="label-sender", level=1, apps=("mail", "contacts"), make=_label),
    TaskTemplate(name="trash-newsletters", level=1, apps=("mail",), make=_trash),
)
