"""A tiny office made by hand: Ana's, on Monday 2031-05-05 at 08:00. Ids are short and fixed."""

from __future__ import annotations

from cairn.envs.office.app import App
from cairn.envs.office.calendar import Event
from cairn.envs.office.contacts import Contact, ContactGroup
from cairn.envs.office.files import File, Folder
from cairn.envs.office.mail import Attachment, Mail
from cairn.envs.office.payments import Account, Payee, PaymentRequest, Transaction
from cairn.envs.office.world import OFFICE, World

ANA, SAM, SAM2, ZOE = "ana@home.example", "sam@home.example", "sam.field@work.example", "zoe@home.example"


def tiny(has: tuple[type[App], ...] = OFFICE) -> World:
    """Return the world, new each time."""
    world = World(seed=1, now="2031-05-05T08:00", owner="Ana Brandt", address=ANA, has=has)
    _add_mails(world)
    _add_events(world)
    _add_contacts(world)
    _add_payments(world)
    world.files.folders.update({path: Folder(path=path) for path in ("/Docs", "/Docs/Old", "/Empty")})
    for path, text in {
        "/Docs/plan.txt": "Paint the fence\n",
        "/Docs/Old/plan.txt": "Buy paint\n",
        "/top.txt": "",
    }.items():
        world.files.files[path] = File(path=path, text=text, modified_at="2031-05-01T10:00")
    return world


def _add_mails(world: World) -> None:
    offer = Attachment(name="offer.txt", text="Fence, 12 m: 480.00")
    for mail in (
        Mail(id="m1", thread="t1", folder="inbox", sender=SAM, to=(ANA, ZOE), subject="Fence", body="Which colour?",
             sent_at="2031-05-01T09:00", is_read=False, labels=("home",), attachments=(offer,)),
        Mail(id="m2", thread="t1", folder="sent", sender=ANA, to=(SAM, ZOE), subject="Re: Fence", body="Green!",
             sent_at="2031-05-02T09:00"),
        Mail(id="m3", thread="t2", folder="inbox", sender=ZOE, to=(ANA,), subject="Fence", body="I like blue.",
             sent_at="2031-05-02T09:00", labels=("home", "later")),
        Mail(id="m4", thread="t3", folder="drafts", sender=ANA, to=(SAM2,), subject="Offer", body="Thanks.",
             sent_at="2031-05-03T09:00"),
        Mail(id="m5", thread="t4", folder="drafts", sender=ANA, to=(), subject="To nobody", body="",
             sent_at="2031-05-03T10:00"),
    ):  # fmt: skip
        world.mail.mails[mail.id] = mail


def _add_events(world: World) -> None:
    for event in (
        Event(id="e1", title="Budget round", start="2031-05-06T10:00", minutes=60, organizer=ANA,
              attendees=((SAM, "accepted"), (ZOE, "none")), location="Room 4", notes="Bring figures."),
        Event(id="e2", title="Site visit", start="2031-05-06T13:00", minutes=90, organizer=SAM,
              attendees=((ANA, "none"), (ZOE, "declined"))),
        Event(id="e3", title="Secret", start="2031-05-06T15:00", minutes=30, organizer=ZOE, attendees=((SAM, "none"),)),
        Event(id="e4", title="Budget talk", start="2031-05-07T10:00", minutes=30, organizer=ANA, attendees=(),
              is_cancelled=True),
    ):  # fmt: skip
        world.calendar.events[event.id] = event


def _add_contacts(world: World) -> None:
    for contact in (
        Contact(id="c1", name="Sam Field", emails=(SAM,), phone="1234", birthday="1994-02-11", company="Brightwater"),
        Contact(id="c2", name="Sam Field", emails=(SAM2, SAM), birthday="1990-12-01", company="Wexcombe"),
        Contact(id="c3", name="Zoe Hill", emails=(ZOE,), company="Brightwater"),
    ):
        world.contacts.contacts[contact.id] = contact
    for group in (ContactGroup(name="Choir", members=("c2", "c3")), ContactGroup(name="Empty", members=())):
        world.contacts.groups[group.name] = group


def _add_payments(world: World) -> None:
    pay = world.payments
    for account in (
        Account(id="a1", name="Checking", opening=10_000, balance=9_000, daily_limit=5_000),
        Account(id="a2", name="Savings", opening=70, balance=70, daily_limit=5_000),
    ):
        pay.accounts[account.id] = account
    for payee in (Payee(id="p1", name="Gas", reference="G-1"), Payee(id="p2", name="Gas", reference="G-2")):
        pay.payees[payee.id] = payee
    for each in (
        Transaction(id="x1", account="a1", at="2031-05-04T12:00", amount=-1_500, kind="transfer", party="p1"),
        Transaction(id="x2", account="a1", at="2031-05-03T12:00", amount=500, kind="income", party="Salary"),
    ):
        pay.transactions[each.id] = each
    for request in (
        PaymentRequest(id="r1", direction="incoming", address=SAM, amount=2_450, note="Cinema", made_on="2031-05-01"),
        PaymentRequest(id="r2", direction="outgoing", address=ZOE, amount=900, note="Pizza", made_on="2031-05-02"),
        PaymentRequest(
            id="r3", direction="incoming", address=ZOE, amount=100, note="Gum", made_on="2031-04-01", status="paid"
        ),
    ):
        pay.requests[request.id] = request
