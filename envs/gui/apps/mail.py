"""Mail application: folders, search, labels, attachments, and forms to write mails.

Opening a mail does not mark it as read; there is a button for that.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator

from cairn.envs.gui.locate import Json, everything, turn_to
from cairn.envs.gui.parts import (
    Bar,
    Button,
    FactList,
    Field,
    Form,
    Link,
    Menu,
    Nav,
    Page,
    Prose,
    Row,
    Table,
    address,
    choices,
    distinct,
    pager,
)
from cairn.envs.gui.site import Place, Site, Visit, doing
from cairn.envs.gui.ui_actions import Deed, click, fill, fill_in, goto, search, select, texts
from cairn.envs.office.mail import FOLDERS
from cairn.envs.office.task import Step
from cairn.envs.office.world import World

ALL = "all"
_HINT = "addresses, with commas between them"


def name_of(mail: Json) -> str:
    """Return the accessible name of a mail's row."""
    return f"{mail['subject']}, from {mail['sender']}, {mail['sent_at'].replace('T', ' ')}"


def _folder(visit: Visit) -> Page:
    folder, label = visit.value("folder", "inbox"), visit.value("label")
    words, sender, unread = visit.value("q"), visit.value("sender").strip().lower(), visit.value("unread")
    found = visit.listed(
        "mail", "search", query=words, folder=None if folder == ALL else folder, label=label or None,
        sender=sender or None, unread=True if unread else None,
    )  # fmt: skip
    links = [
        Link(text=each.capitalize(), to=address("/", folder=each), is_current=each == folder) for each in FOLDERS
    ] + [Link(text="All mail", to=address("/", folder=ALL), is_current=folder == ALL)]
    labels = [each["label"] for each in visit.everything("mail", "list_labels")]
    look = Form(
        to="/",
        is_get=True,
        submits=(("", "Search"),),
        hidden={"folder": folder},
        fields=(
            Field(label="Search mail", name="q", kind="search", value=words),
            Field(label="Label", name="label", kind="select", value=label, options=choices(labels, "any label")),
            Field(label="From address", name="sender", value=sender),
            Field(label="Unread only", name="unread", kind="check", value=unread),
        ),
    )
    table = Table(
        caption=f"{folder.capitalize()}: {found['total']} mails",
        columns=("Subject", "From", "To", "Date", "Labels", "State"),
        rows=_rows(found["items"], visit),
    )
    pages = pager("/", found["total"], visit.page(), folder=folder, q=words, label=label, sender=sender, unread=unread)
    write = Nav(name="Write", links=(Link(text="New mail", to="/compose"),))
    return Page(title="Mail", parts=(write, Nav(name="Folders", links=links, looks="tabs"), look, table, pages))


def _rows(items: list[Json], visit: Visit) -> list[Row]:
    names, back = distinct([name_of(mail) for mail in items]), address("/", **visit.query)
    return [
        Row(
            cells=(
                Link(text=mail["subject"], to=f"/mail/{mail['id']}", name=name),
                mail["sender"],
                ", ".join(mail["to"]),
                mail["sent_at"].replace("T", " "),
                ", ".join(mail["labels"]),
                "unread" if mail["unread"] else "read",
            ),
            buttons=[
                Button(
                    text=text, name=f"{text}: {name}", to=f"/mail/{mail['id']}/move",
                    values={"folder": folder, "back": back},
                )
                for text, folder in _moves(mail["folder"])
            ],
        )
        for mail, name in zip(items, names, strict=True)
    ]  # fmt: skip


def _moves(folder: str) -> list[tuple[str, str]]:
    """Return the buttons that move a mail out of a folder: text and target folder."""
    moves = [("Archive", "archive"), ("Move to inbox", "inbox"), ("Delete", "trash")]
    allowed = moves[2:] if folder in ("sent", "drafts") else moves
    return [(text, to) for text, to in allowed if to != folder]


def _mail(visit: Visit) -> Page:
    mail = visit.call("mail", "get", mail_id=visit.path["id"])
    at = f"/mail/{mail['id']}"
    labels = [
        Button(text=f"Remove label {label}", to=f"{at}/unlabel", values={"label": label}) for label in mail["labels"]
    ]
    parts = (
        Nav(name="This mail", links=_ways(mail, at)),
        Bar(buttons=[Button(text=text, to=f"{at}/move", values={"folder": to}) for text, to in _moves(mail["folder"])]),
        Menu(
            name="More actions",
            buttons=[
                Button(
                    text="Mark as read" if mail["unread"] else "Mark as unread",
                    to=f"{at}/mark",
                    values={"read": "yes" if mail["unread"] else "no"},
                ),
                *labels,
            ],
        ),
        FactList(
            pairs=(
                ("From", mail["sender"]),
                ("To", ", ".join(mail["to"])),
                ("Date", mail["sent_at"].replace("T", " ")),
                ("Folder", mail["folder"]),
                ("Labels", ", ".join(mail["labels"])),
                ("State", "unread" if mail["unread"] else "read"),
            )
        ),
        Prose(text=mail["body"]),
        Nav(
            name="Attachments",
            text=f"{len(mail['attachments'])} attachments",
            links=[
                Link(text=name, to=address(f"{at}/attachment", name=name), name=f"Attachment {name}")
                for name in mail["attachments"]
            ],
        ),
        Form(to=f"{at}/label", submits=(("", "Add label"),), fields=(Field(label="New label", name="label"),)),
    )
    return Page(title=mail["subject"], parts=parts)


def _ways(mail: Json, at: str) -> list[Link]:
    links = [Link(text="Conversation", to=address("/thread", id=mail["thread"]))]
    if mail["folder"] == "drafts":
        return [Link(text="Send this draft", to=f"{at}/send"), *links]
    return [
        Link(text="Reply", to=f"{at}/reply"),
        Link(text="Reply to all", to=address(f"{at}/reply", all="yes")),
        Link(text="Forward", to=f"{at}/forward"),
        *links,
    ]


def _thread(visit: Visit) -> Page:
    thread = visit.value("id")
    found = visit.listed("mail", "thread", thread_id=thread)
    names = distinct([name_of(mail) for mail in found["items"]])
    rows = [
        Row(
            cells=(
                Link(text=mail["subject"], to=f"/mail/{mail['id']}", name=name), mail["sender"],
                mail["sent_at"].replace("T", " "), mail["folder"],
            )
        )
        for mail, name in zip(found["items"], names, strict=True)
    ]  # fmt: skip
    table = Table(caption="Mails, newest first", columns=("Subject", "From", "Date", "Folder"), rows=rows)
    return Page(title="Conversation", parts=(table, pager("/thread", found["total"], visit.page(), id=thread)))


def _attachment(visit: Visit) -> Page:
    found = visit.call("mail", "attachment", mail_id=visit.path["id"], name=visit.value("name"))
    back = Nav(name="Back", links=(Link(text="Back to the mail", to=f"/mail/{visit.path['id']}"),))
    return Page(title=found["name"], parts=(back, Prose(text=found["text"])))


def _compose(visit: Visit) -> Page:
    fields = (
        Field(label="To", name="to", value=visit.value("to"), hint=_HINT),
        Field(label="Subject", name="subject", value=visit.value("subject")),
        Field(label="Text", name="body", kind="area", value=visit.value("body")),
        Field(label="Attached files", name="files", value=visit.value("files"),
              hint="paths like /Notes/plan.txt, with commas between them"),
    )  # fmt: skip
    form = Form(to="/compose", fields=fields, submits=(("send", "Send"), ("save", "Save as draft")))
    return Page(title="New mail", parts=(form,))


def _send(visit: Visit) -> str:
    visit.perform("mail", "save_draft" if visit.value("act") == "save" else "send")
    return address("/", folder="drafts" if visit.value("act") == "save" else "sent")


def _reply(visit: Visit) -> Page:
    mail, to_all = visit.call("mail", "get", mail_id=visit.path["id"]), visit.value("all")
    people = ", ".join([mail["sender"], *mail["to"]]) if to_all else mail["sender"]
    form = Form(
        to=address(f"/mail/{mail['id']}/reply", all=to_all),
        submits=(("", "Send reply"),),
        fields=(Field(label="Text", name="body", kind="area", value=visit.value("body")),),
    )
    facts = FactList(pairs=(("Answers", mail["sender"]), ("Between", people)))
    return Page(title=f"Reply: {mail['subject']}", parts=(facts, Prose(text=mail["body"]), form))


def _reply_sent(visit: Visit) -> str:
    visit.perform("mail", "reply", mail_id=visit.path["id"], to_all=visit.query.get("all") == "yes")
    return f"/mail/{visit.path['id']}"


def _forward(visit: Visit) -> Page:
    mail = visit.call("mail", "get", mail_id=visit.path["id"])
    form = Form(
        to=f"/mail/{mail['id']}/forward",
        submits=(("", "Forward mail"),),
        fields=(
            Field(label="To", name="to", value=visit.value("to"), hint=_HINT),
            Field(label="Text above", name="body", kind="area", value=visit.value("body")),
        ),
    )
    return Page(title=f"Forward: {mail['subject']}", parts=(form, Prose(text=mail["body"])))


def _send_draft(visit: Visit) -> Page:
    mail = visit.call("mail", "get", mail_id=visit.path["id"])
    facts = FactList(pairs=(("To", ", ".join(mail["to"])), ("Subject", mail["subject"])))
    form = Form(to=f"/mail/{mail['id']}/send", submits=(("", "Send now"),))
    return Page(title="Send this draft", parts=(facts, Prose(text=mail["body"]), form))


def _to_mail(world: World, mail_id: str) -> Iterator[Deed]:
    name = yield from _to_row(world, mail_id)
    yield click("link", name)


def _to_row(world: World, mail_id: str) -> Generator[Deed, None, str]:
    mail = world.mail.mails[mail_id]
    yield goto("http://mail/")
    if mail.folder != "inbox":
        yield click("link", mail.folder.capitalize())
    yield from search("Search mail", mail.subject)
    items = everything(world, "mail", "search", query=mail.subject, folder=mail.folder)
    return (yield from turn_to(items, lambda item: item["id"] == mail_id, name_of))


def _how_send(world: World, step: Step) -> Iterator[Deed]:
    given = step.arguments
    yield goto("http://mail/")
    yield click("link", "New mail")
    yield from fill_in({"To": ", ".join(texts(given["to"])), "Subject": str(given["subject"])})
    yield fill("Text", str(given["body"]))
    if given.get("files"):
        yield fill("Attached files", ", ".join(texts(given["files"])))
    yield click("button", "Save as draft" if step.name == "save_draft" else "Send")


def _how_reply(world: World, step: Step) -> Iterator[Deed]:
    yield from _to_mail(world, str(step.arguments["mail_id"]))
    yield click("link", "Reply to all" if step.arguments.get("to_all") else "Reply")
    yield fill("Text", str(step.arguments["body"]))
    yield click("button", "Send reply")


def _how_forward(world: World, step: Step) -> Iterator[Deed]:
    yield from _to_mail(world, str(step.arguments["mail_id"]))
    yield click("link", "Forward")
    yield from fill_in(
        {"To": ", ".join(texts(step.arguments["to"])), "Text above": str(step.arguments.get("body", ""))}
    )
    yield click("button", "Forward mail")


def _how_move(world: World, step: Step) -> Iterator[Deed]:
    name = yield from _to_row(world, str(step.arguments["mail_id"]))
    folder = world.mail.mails[str(step.arguments["mail_id"])].folder
    ways = {to: text for text, to in _moves(folder)}
    yield click("button", f"{ways[str(step.arguments['folder'])]}: {name}")


def _how_mark(world: World, step: Step) -> Iterator[Deed]:
    yield from _to_mail(world, str(step.arguments["mail_id"]))
    yield click("button", "More actions")
    yield click("button", "Mark as read" if step.arguments["read"] else "Mark as unread")


def _how_label(world: World, step: Step) -> Iterator[Deed]:
    yield from _to_mail(world, str(step.arguments["mail_id"]))
    yield fill("New label", str(step.arguments["label"]))
    yield click("button", "Add label")


def _how_unlabel(world: World, step: Step) -> Iterator[Deed]:
    yield from _to_mail(world, str(step.arguments["mail_id"]))
    yield click("button", "More actions")
    yield click("button", f"Remove label {step.arguments['label']}")


def _how_send_draft(world: World, step: Step) -> Iterator[Deed]:
    yield from _to_mail(world, str(step.arguments["mail_id"]))
    yield click("link", "Send this draft")
    yield click("button", "Send now")


def _how_look(world: World, step: Step) -> Iterator[Deed]:
    given = step.arguments
    yield goto("http://mail/")
    yield select("Label", str(given["label"]))
    yield fill("From address", str(given["sender"]))
    yield click("button", "Search")


def _how_attachment(world: World, step: Step) -> Iterator[Deed]:
    yield from _to_mail(world, str(step.arguments["mail_id"]))
    yield click("link", f"Attachment {step.arguments['name']}")


_AT = "/mail/{id}"
APP = Site(
    name="mail",
    title="Mail",
    places=(
        Place(path="/", show=_folder),
        Place(path="/thread", show=_thread),
        Place(path="/compose", show=_compose, do=_send, message="The mail is kept or sent."),
        Place(path=_AT, show=_mail),
        Place(path=f"{_AT}/attachment", show=_attachment),
        Place(
            path=f"{_AT}/move", show=_mail, do=doing("mail", "move", _AT, mail_id="id"), message="The mail was moved."
        ),
        Place(
            path=f"{_AT}/mark", show=_mail, do=doing("mail", "mark", _AT, mail_id="id"), message="The mail was marked."
        ),
        Place(path=f"{_AT}/label", show=_mail, do=doing("mail", "add_label", _AT, mail_id="id"), message="Labelled."),
        Place(
            path=f"{_AT}/unlabel",
            show=_mail,
            do=doing("mail", "remove_label", _AT, mail_id="id"),
            message="Unlabelled.",
        ),
        Place(path=f"{_AT}/reply", show=_reply, do=_reply_sent, message="The reply was sent."),
        Place(
            path=f"{_AT}/forward", show=_forward, do=doing("mail", "forward", _AT, mail_id="id"), message="Forwarded."
        ),
        Place(path=f"{_AT}/send", show=_send_draft, do=doing("mail", "send_draft", _AT, mail_id="id"), message="Sent."),
    ),
    how={
        "search": _how_look,
        "attachment": _how_attachment,
        "send": _how_send,
        "save_draft": _how_send,
        "send_draft": _how_send_draft,
        "reply": _how_reply,
        "forward": _how_forward,
        "move": _how_move,
        "mark": _how_mark,
        "add_label": _how_label,
        "remove_label": _how_unlabel,
    },
)
