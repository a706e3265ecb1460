"""Template for invoices by mail: list their totals in a file, and pay the overdue ones."""

from __future__ import annotations

import random

from cairn.envs.office.clock import day_of, days_later
from cairn.envs.office.fixtures import account, add_payee, before, money, receive
from cairn.envs.office.mail import Attachment
from cairn.envs.office.task import Plan, Step, TaskTemplate, step
from cairn.envs.office.world import World

PATH = "/Finance/invoices.txt"
_COMPANIES = ("Ivory Paper", "Jasper Cleaning", "Kelp Catering", "Larch Printing", "Mica Tools")
_PROGRAM = """
today, source, lines = office.world.now()["day"], account_id("Checking"), []
for mail in every(office.mail.search, folder="inbox", label="invoice"):
    for name in mail["attachments"]:
        text = office.mail.attachment(mail_id=mail["id"], name=name)["text"]
        fields = dict(line.split(": ", 1) for line in text.splitlines())
        if "Invoice" not in fields:
            continue
        lines.append(f"{fields['Invoice']} {fields['Total']}")
        if fields["Due"] < today:
            payees = every(office.payments.list_payees, query=fields["Reference"])
            payee = next(each for each in payees if each["reference"] == fields["Reference"])
            cents = int(fields["Total"].replace(".", ""))
            office.payments.transfer(account_id=source, payee_id=payee["id"], amount=cents, note=fields["Invoice"])
office.files.write(path=path, text="\\n".join(sorted(lines)) + "\\n")
submit()
"""


def _make(world: World, rng: random.Random) -> Plan:
    today, source, lines, pays = day_of(world.now), account(world, "Checking").id, [], []
    numbers = rng.sample(range(2_000, 9_000), 7)
    for at, number in enumerate(numbers):
        company, cents = rng.choice(_COMPANIES), rng.randrange(1_000, 20_000)
        payees = [add_payee(world, company, f"{letter}{number}") for letter in "RS"]
        due = days_later(today, (-rng.randint(2, 20), -1, 0, rng.randint(1, 20), -5, -9, 3)[at])
        text = f"Invoice: {number}\nFrom: {company}\nReference: R{number}\nDue: {due}\nTotal: {money(cents)}\n"
        attachments = [Attachment(name=f"invoice-{number}.txt", text=text)]
        if at == 2:
            attachments.append(Attachment(name="terms.txt", text="Terms: pay in time\n"))
        sender = f"billing@{company.split()[0].lower()}.example"
        folder, labels = ("trash" if at == 5 else "inbox"), ("receipts" if at == 6 else "invoice",)
        receive(
            world, sender, f"Invoice {number}", "Please find it attached.", before(world, rng, 1, 40),
            folder=folder, labels=labels, attachments=tuple(attachments),
        )  # fmt: skip
        if at < 5:
            lines.append(f"{number} {money(cents)}")
            if due < today:
                pays.append(_pay(source, payees[0].id, cents, str(number)))
    return Plan(
        instruction=f"The mails in my inbox with the label 'invoice' have invoices attached. Write the file {PATH}: "
        "for each invoice a line with its number, a space and its total as it is written there, smaller numbers first. "
        "And pay those that were due before today from Checking, each by a transfer to the payee with the "
        "reference that the invoice gives, with the number of the invoice as the note.",
        steps=(step("files", "write", path=PATH, text="\n".join(sorted(lines)) + "\n"), *pays),
        program=_PROGRAM,
        values={"path": PATH},
    )


def _pay(source: str, payee: str, cents: int, number: str) -> Step:
    return step(
        "payments", "transfer", account_id=source, payee_id=payee, amount=cents, note=number, says=(number,)
    )  # fmt: skip


TEMPLATES = (TaskTemplate(name="overdue-invoices", level=3, apps=("mail", "files", "payments"), make=_make),)
