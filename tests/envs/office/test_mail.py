"""Mail: each call's result and refusals, in a tiny office."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from cairn.envs.office.mail import Attachment
from cairn.envs.office.world import World
from tests.envs.office.refusals import ids, refused
from tests.envs.office.tiny import ANA, SAM, SAM2, ZOE, tiny

SUMMARY = {
    "id": "m1", "thread": "t1", "folder": "inbox", "sender": SAM, "to": [ANA, ZOE], "subject": "Fence",
    "sent_at": "2031-05-01T09:00", "unread": True, "labels": ["home"], "attachments": ["offer.txt"],
}  # fmt: skip


def call(world: World, name: str, /, **arguments: object) -> Any:
    return world.call("mail", name, arguments)


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ({}, ["m5", "m4", "m2", "m3", "m1"]),  # newest first; of one moment, by id
        ({"folder": "inbox"}, ["m3", "m1"]),
        ({"query": "FENCE blue"}, ["m3"]),  # subject and text, case ignored
        ({"query": "fence red"}, []),
        ({"sender": ANA}, ["m5", "m4", "m2"]),
        ({"recipient": ZOE}, ["m2", "m1"]),
        ({"label": "home"}, ["m3", "m1"]),
        ({"label": "hom"}, []),
        ({"unread": True}, ["m1"]),
        ({"unread": False, "folder": "inbox"}, ["m3"]),
        ({"since": "2031-05-02", "until": "2031-05-02"}, ["m2", "m3"]),
    ],
)
def test_search_finds_the_mails_that_meet_all_conditions(arguments: dict[str, object], expected: list[str]) -> None:
    assert ids(call(tiny(), "search", **arguments)) == expected


def test_search_returns_pages_of_mails_without_their_text() -> None:
    world = tiny()
    assert call(world, "search", folder="inbox", limit=1) == {
        "items": [call(world, "search", query="blue")["items"][0]], "total": 2, "next_offset": 1,
    }  # fmt: skip
    assert call(world, "search", folder="inbox", limit=1, offset=1) == {
        "items": [SUMMARY], "total": 2, "next_offset": None,
    }  # fmt: skip
    assert call(world, "search", offset=99) == {"items": [], "total": 5, "next_offset": None}
    refused(world, "mail", "search", "one of inbox, archive, sent, drafts, trash; got 'spam'", folder="spam")


def test_get_returns_the_text_and_leaves_the_mail_unread() -> None:
    world = tiny()
    state = world.state()
    assert call(world, "get", mail_id="m1") == {**SUMMARY, "body": "Which colour?"}
    assert world.state() == state
    refused(world, "mail", "get", "there is no mail 'm9'", mail_id="m9")


def test_a_thread_goes_over_all_folders() -> None:
    assert ids(call(tiny(), "thread", thread_id="t1")) == ["m2", "m1"]
    refused(tiny(), "mail", "thread", "no thread 't9'", thread_id="t9")


def test_attachments_are_read_by_name() -> None:
    assert call(tiny(), "attachment", mail_id="m1", name="offer.txt") == {
        "name": "offer.txt", "text": "Fence, 12 m: 480.00",
    }  # fmt: skip
    refused(tiny(), "mail", "attachment", "it has: offer.txt", mail_id="m1", name="other.txt")
    refused(tiny(), "mail", "attachment", "it has: none", mail_id="m2", name="other.txt")


def test_labels_are_counted() -> None:
    assert call(tiny(), "list_labels")["items"] == [{"label": "home", "mails": 2}, {"label": "later", "mails": 1}]


def test_sending_begins_a_thread_and_takes_files_as_they_are_now() -> None:
    world = tiny()
    reported = call(world, "send", to=[SAM, ZOE], subject="Plan", body="See this.", files=["/Docs/plan.txt"])
    mail = world.mail.mails[reported["id"]]
    assert (mail.folder, mail.sender, mail.to) == ("sent", ANA, (SAM, ZOE))
    assert (mail.subject, mail.body, mail.sent_at) == ("Plan", "See this.", world.now)
    assert mail.attachments == (Attachment(name="plan.txt", text="Paint the fence\n"),)
    assert reported["thread"] == mail.thread not in {"t1", "t2", "t3", "t4"}
    refused(world, "mail", "send", "at least one address", to=[], subject="A", body="")
    refused(world, "mail", "send", "no file '/Docs/plans.txt'; did you mean '/Docs/plan.txt'?", to=[SAM], subject="A",
            body="", files=["/Docs/plans.txt"])  # fmt: skip
    refused(world, "mail", "send", "none twice", to=[SAM, SAM], subject="A", body="")
    refused(world, "mail", "send", "one line of 1 to 200", to=[SAM], subject=" ", body="")


def test_drafts_wait_until_they_are_sent() -> None:
    world = tiny()
    reported = call(world, "save_draft", to=[SAM], subject="Later", body="Soon.")
    assert world.mail.mails[reported["id"]].folder == "drafts"
    assert call(world, "send_draft", mail_id="m4") == {"id": "m4", "thread": "t3"}
    assert (world.mail.mails["m4"].folder, world.mail.mails["m4"].sent_at) == ("sent", world.now)
    refused(world, "mail", "send_draft", "not a draft; it is in sent", mail_id="m4")
    refused(world, "mail", "send_draft", "has no recipient", mail_id="m5")


def test_a_reply_goes_to_the_sender_or_to_all_but_yourself() -> None:
    world = tiny()
    one = world.mail.mails[call(world, "reply", mail_id="m1", body="Green.")["id"]]
    assert (one.thread, one.to, one.subject, one.folder) == ("t1", (SAM,), "Re: Fence", "sent")
    all_ = world.mail.mails[call(world, "reply", mail_id="m1", body="Green.", to_all=True)["id"]]
    assert all_.to == (SAM, ZOE)
    own = world.mail.mails[call(world, "reply", mail_id="m2", body="Or red.")["id"]]
    assert (own.to, own.subject) == ((SAM, ZOE), "Re: Fence")  # an own mail: to its recipients, no second "Re: "
    refused(world, "mail", "reply", "is a draft", mail_id="m4", body="")
    world.mail.mails["m3"] = replace(world.mail.mails["m3"], sender=ANA)
    refused(world, "mail", "reply", "nobody but you", mail_id="m3", body="")


def test_forwarding_takes_text_and_attachments_along() -> None:
    world = tiny()
    mail = world.mail.mails[call(world, "forward", mail_id="m1", to=[SAM2], body="Look.")["id"]]
    assert (mail.subject, mail.to, mail.thread != "t1") == ("Fwd: Fence", (SAM2,), True)
    assert mail.body == f"Look.\n\n{SAM} wrote on 2031-05-01T09:00:\nWhich colour?"
    assert [attachment.name for attachment in mail.attachments] == ["offer.txt"]
    refused(world, "mail", "forward", "at least one address", mail_id="m1", to=[])


def test_moving_is_between_inbox_archive_and_trash() -> None:
    world = tiny()
    assert call(world, "move", mail_id="m1", folder="archive") == {"id": "m1", "folder": "archive"}
    assert world.mail.mails["m1"].folder == "archive"
    call(world, "move", mail_id="m4", folder="trash")
    refused(world, "mail", "move", "inbox, archive, trash; got 'sent'", mail_id="m1", folder="sent")
    refused(world, "mail", "move", "sent can only be moved to trash", mail_id="m2", folder="inbox")


def test_marks_and_labels() -> None:
    world = tiny()
    assert call(world, "mark", mail_id="m1", read=True) == {"id": "m1", "unread": False}
    assert world.mail.mails["m1"].is_read
    assert call(world, "add_label", mail_id="m1", label="a") == {"id": "m1", "labels": ["a", "home"]}
    assert call(world, "add_label", mail_id="m1", label="a") == {"id": "m1", "labels": ["a", "home"]}
    assert call(world, "remove_label", mail_id="m1", label="home") == {"id": "m1", "labels": ["a"]}
    assert world.mail.mails["m1"].labels == ("a",)
    refused(world, "mail", "remove_label", "it has: a", mail_id="m1", label="home")
