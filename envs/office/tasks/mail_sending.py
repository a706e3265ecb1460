"""Templates that forward one mail or send one draft, among others that look the same."""

from __future__ import annotations

import random

from cairn.envs.office.clock import later
from cairn.envs.office.fixtures import before, contacts, draft, namesakes, receive
from cairn.envs.office.task import Plan, TaskTemplate, step
from cairn.envs.office.world import World

_SUBJECTS = ("Seating plan", "Door codes", "Key for the cellar", "Guest network", "Locker numbers")

_FORWARD_PROGRAM = """
mails = [mail for mail in every(office.mail.search, query=subject, folder="inbox") if mail["subject"] == subject]
newest = max(mails, key=lambda mail: mail["sent_at"])
office.mail.forward(mail_id=newest["id"], to=[person(who)["emails"][0]], body="For you.")
submit()
"""

_DRAFT_PROGRAM = """
address = person(who)["emails"][0]
for mail in every(office.mail.search, query=subject, folder="drafts", recipient=address):
    if mail["subject"] == subject:
        office.mail.send_draft(mail_id=mail["id"])
submit()
"""


def _forward(world: World, rng: random.Random) -> Plan:
    subject, who, at = rng.choice(_SUBJECTS), namesakes(world, rng)[0], before(world, rng, 3, 20)
    codes = [f"{letter}{rng.randrange(1000, 10_000)}" for letter in "KLMNPQ"]
    senders = contacts(world, rng, 6)
    mails = [
        receive(world, sender.address, subject, f"The code is now {code}.", later(at, minutes), folder=folder)
        for sender, code, minutes, folder in zip(
            senders, codes, (0, -3000, -9000, 70, 600, -20), ("inbox", "inbox", "inbox", "trash", "archive", "inbox"),
            strict=True,
        )
    ]  # fmt: skip
    receive(world, senders[0].address, f"{subject} (old)", "Not this one.", later(at, 30))
    draft(world, senders[1], subject, "The code is not known yet.", later(at, 90))
    return Plan(
        instruction=f"Forward the newest mail in my inbox with exactly the subject {subject!r} to the main mail "
        f"address of {who.name}.",
        steps=(step("mail", "forward", mail_id=mails[0].id, to=[who.address], says=(codes[0],)),),
        program=_FORWARD_PROGRAM,
        values={"subject": subject, "who": who.name},
    )


def _send_draft(world: World, rng: random.Random) -> Plan:
    who, other = namesakes(world, rng)
    subject = rng.choice(("About Saturday", "The offer", "Our answer"))
    mail = draft(world, who, subject, "I agree with the plan.", before(world, rng, 1, 5))
    draft(world, other, subject, "I do not agree with the plan.", before(world, rng, 1, 5))
    draft(world, who, f"{subject} (first try)", "I am not sure.", before(world, rng, 6, 9))
    return Plan(
        instruction=f"There is a draft with exactly the subject {subject!r} to {who.name}. Send it as it is, and "
        "leave the other drafts alone.",
        steps=(step("mail", "send_draft", mail_id=mail.id),),
        program=_DRAFT_PROGRAM,
        values={"subject": subject, "who": who.name},
    )


TEMPLATES = (
    TaskTemplate(name="forward-newest", level=2, apps=("mail", "contacts"), make=_forward),
    TaskTemplate(name="send-draft", level=1, apps=("mail", "contacts"), make=_send_draft),
)
