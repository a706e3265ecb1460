"""Tasks in the mail: file, answer, send and count mails."""

from __future__ import annotations

import random
from dataclasses import replace

from cairn.envs.gui.task import simple
from cairn.envs.office.clock import day_of, days_later
from cairn.envs.office.fixtures import before, contacts, draft, namesakes, receive
from cairn.envs.office.mail import Attachment
from cairn.envs.office.task import Plan, step
from cairn.envs.office.world import World

_SUBJECTS = ("Roof terrace", "Winter tyres", "Canteen menu", "Spare keys", "Choir evening", "Loose carpet")
_TEXT = "Please see to it when you can."


def _archive(world: World, rng: random.Random) -> Plan:
    who, other = namesakes(world, rng)
    subject = rng.choice(_SUBJECTS)
    mail = receive(world, who.address, subject, _TEXT, before(world, rng, 1, 9))
    receive(world, other.address, subject, _TEXT, before(world, rng, 1, 9))
    return Plan(
        instruction=f"Archive the mail {subject!r} that I got from {who.address}.",
        steps=(step("mail", "move", mail_id=mail.id, folder="archive"),),
    )


def _unread(world: World, rng: random.Random) -> Plan:
    (who,), subject = contacts(world, rng, 1), rng.choice(_SUBJECTS)
    mail = receive(world, who.address, subject, _TEXT, before(world, rng, 1, 9))
    return Plan(
        instruction=f"Mark the mail {subject!r} in my inbox as unread.",
        steps=(step("mail", "mark", mail_id=mail.id, read=False),),
    )


def _label(world: World, rng: random.Random) -> Plan:
    (who,), subject, label = contacts(world, rng, 1), rng.choice(_SUBJECTS), rng.choice(("to pay", "house", "2031"))
    mail = receive(world, who.address, subject, _TEXT, before(world, rng, 1, 9), labels=["later"])
    receive(world, who.address, f"{subject} again", _TEXT, before(world, rng, 1, 9))
    return Plan(
        instruction=f"Put the label {label!r} on the mail with exactly the subject {subject!r}.",
        steps=(step("mail", "add_label", mail_id=mail.id, label=label),),
    )


def _send(world: World, rng: random.Random) -> Plan:
    (who,), subject, code = contacts(world, rng, 1), rng.choice(_SUBJECTS), f"{rng.randrange(1000, 10_000)}"
    return Plan(
        instruction=f"Send {who.address} a mail with the subject {subject!r} and tell them that the door code is "
        f"{code}.",
        steps=(step("mail", "send", to=[who.address], subject=subject, body=f"It is {code}.", says=(code,)),),
    )


def _save(world: World, rng: random.Random) -> Plan:
    people, subject, room = contacts(world, rng, 2), rng.choice(_SUBJECTS), f"{rng.randrange(100, 999)}"
    to = [each.address for each in people]
    return Plan(
        instruction=f"Write a mail to {to[0]} and {to[1]} with the subject {subject!r} that says we meet in room "
        f"{room}, but do not send it: save it as a draft.",
        steps=(step("mail", "save_draft", to=to, subject=subject, body=f"Room {room}.", says=(room,)),),
    )


def _reply(world: World, rng: random.Random) -> Plan:
    who, other = namesakes(world, rng)
    subject, size = rng.choice(_SUBJECTS), f"{rng.randrange(36, 60)}"
    mail = receive(world, who.address, subject, "Which size do you need?", before(world, rng, 1, 20))
    receive(world, other.address, subject, "Which colour do you like?", before(world, rng, 1, 20))
    return Plan(
        instruction=f"Two people wrote me about {subject!r}. Reply to the one who asks for a size that I need {size}.",
        steps=(step("mail", "reply", mail_id=mail.id, body=f"I need {size}.", says=(size,)),),
    )


def _forward(world: World, rng: random.Random) -> Plan:
    (who, to), subject = contacts(world, rng, 2), rng.choice(_SUBJECTS)
    notes = (Attachment(name="sketch.txt", text="A door, two windows."),)
    mail = receive(world, who.address, subject, _TEXT, before(world, rng, 3, 40), folder="archive", attachments=notes)
    receive(world, who.address, subject, "No sketch yet.", before(world, rng, 41, 50), folder="archive")
    return Plan(
        instruction=f"In my archive there are two mails {subject!r}. Forward the one with an attachment to "
        f"{to.address}.",
        steps=(step("mail", "forward", mail_id=mail.id, to=[to.address]),),
    )


def _draft(world: World, rng: random.Random) -> Plan:
    (who, other), subject = contacts(world, rng, 2), rng.choice(_SUBJECTS)
    mail = draft(world, who, subject, "Thank you!", before(world, rng, 1, 9))
    draft(world, other, subject, "Thank you!", before(world, rng, 1, 9))
    return Plan(
        instruction=f"Send the draft {subject!r} that is addressed to {who.address}; leave my other drafts.",
        steps=(step("mail", "send_draft", mail_id=mail.id),),
    )


def _count(world: World, rng: random.Random) -> Plan:
    sender, label, count = f"desk{rng.randrange(100)}@lostandfound.example", "club", rng.randint(11, 17)
    for number in range(count + 5):
        labels = [label, "later"] if number < count else ["later"]
        receive(world, sender, f"Found: item {number + 1}", _TEXT, before(world, rng, 1, 60), labels=labels)
    receive(world, sender, "Found: a hat", _TEXT, before(world, rng, 1, 60), labels=[label], folder="trash")
    return Plan(
        instruction=f"How many mails from {sender} with the label {label!r} are in my inbox? Send me the number alone.",
        answer=count,
        looks=(step("mail", "search", sender=sender, label=label),),
    )


def _attachment(world: World, rng: random.Random) -> Plan:
    (who,), subject, total = contacts(world, rng, 1), rng.choice(_SUBJECTS), rng.randrange(100, 900)
    lines = f"Wood: {total - 40}\nScrews: 40\nTotal: {total}\n"
    notes = (Attachment(name="terms.txt", text="30 days."), Attachment(name="offer.txt", text=lines))
    mail = receive(world, who.address, f"Offer: {subject}", _TEXT, before(world, rng, 9, 60), attachments=notes)
    return Plan(
        instruction=f"What is the total of the offer that is attached to the mail 'Offer: {subject}'? Send me the "
        "number alone.",
        answer=total,
        looks=(step("mail", "attachment", mail_id=mail.id, name="offer.txt"),),
    )


def _trash(world: World, rng: random.Random) -> Plan:
    sender, day = f"news@{rng.choice(('daily', 'weekly'))}letter.example", days_later(day_of(world.now), -20)
    steps = []
    for number in range(12):
        is_old, is_kept = number % 2 == 0, number in (2, 6)
        at = before(world, rng, 21, 60) if is_old else before(world, rng, 1, 20)
        labels = ["receipts"] if is_kept else ["later"] if number == 4 else []
        mail = receive(world, sender, f"News, issue {number + 1}", "All the news.", at, labels=labels)
        if is_old and not is_kept:
            steps.append(step("mail", "move", mail_id=mail.id, folder="trash"))
    return Plan(
        instruction=f"Delete the mails from {sender} in my inbox that came before {day}, but keep those with the "
        "label 'receipts'.",
        steps=tuple(steps),
    )


def _relabel(world: World, rng: random.Random) -> Plan:
    (who,), old, new = contacts(world, rng, 1), "trip", f"trip {rng.choice(('north', 'south'))}"
    steps = []
    for number, topic in enumerate(rng.sample(_SUBJECTS, 4)):
        mail = receive(
            world, who.address, topic, _TEXT, before(world, rng, 1, 30), labels=[old, "family"][: 1 + number % 2],
            folder="archive" if number == 2 else "inbox",
        )  # fmt: skip
        steps.append(step("mail", "remove_label", mail_id=mail.id, label=old))
        steps.append(step("mail", "add_label", mail_id=mail.id, label=new))
    return Plan(
        instruction=f"Every mail with the label {old!r}, whichever folder it is in, should have the label {new!r} in "
        "its place.",
        steps=tuple(steps),
    )


def _unread_of(world: World, rng: random.Random) -> Plan:
    (who, other), steps = contacts(world, rng, 2), []
    for number in range(6):
        sender = other.address if number == 5 else who.address
        mail = receive(world, sender, _SUBJECTS[number], _TEXT, before(world, rng, 1, 40))
        mail = replace(mail, is_read=number in (1, 2))
        world.mail.mails[mail.id] = mail
    for mail in world.mail.mails.values():
        if mail.folder == "inbox" and mail.sender == who.address and not mail.is_read:
            steps.append(step("mail", "move", mail_id=mail.id, folder="archive"))
            steps.append(step("mail", "mark", mail_id=mail.id, read=True))
    return Plan(
        instruction=f"Mark all unread mails from {who.address} in my inbox as read, and archive these mails.",
        steps=tuple(reversed(steps)),
    )


TEMPLATES = (
    simple("mail-archive", 1, "mail", _archive),
    simple("mail-mark-unread", 1, "mail", _unread),
    simple("mail-label", 1, "mail", _label),
    simple("mail-send", 1, "mail", _send),
    simple("mail-save-draft", 1, "mail", _save),
    simple("mail-reply", 2, "mail", _reply),
    simple("mail-forward", 2, "mail", _forward),
    simple("mail-send-draft", 2, "mail", _draft),
    simple("mail-count", 2, "mail", _count),
    simple("mail-read-attachment", 2, "mail", _attachment),
    simple("mail-delete-news", 3, "mail", _trash),
    simple("mail-rename-label", 3, "mail", _relabel),
    simple("mail-read-and-archive", 3, "mail", _unread_of),
)
