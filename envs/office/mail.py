"""Mail: five folders, threads, labels and attachments.

Sent mails are kept in `sent`, and nobody answers them. Reading a mail does not mark it as read. Not supported: mails
that arrive during a task, rich text, permanent deletion.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import ClassVar

from cairn.envs.office.app import App, find, require
from cairn.envs.office.calls import Address, Addresses, Day, Limit, Line, OfficeError, Offset, Words, call, page, shown
from cairn.envs.office.clock import day_of
from cairn.envs.office.files import Files

FOLDERS = ("inbox", "archive", "sent", "drafts", "trash")
_TARGETS = ("inbox", "archive", "trash")
_LIST = "mail.search lists mails"


@dataclass(frozen=True, kw_only=True, slots=True)
class Attachment:
    """A text file attached to a mail."""

    name: str
    text: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Mail:
    """One mail, received, sent or drafted."""

    id: str
    thread: str
    folder: str  # one of `FOLDERS`
    sender: str  # address
    to: tuple[str, ...]  # addresses
    subject: str
    body: str
    sent_at: str  # moment; of a draft, the moment of writing
    is_read: bool = True
    labels: tuple[str, ...] = ()  # sorted
    attachments: tuple[Attachment, ...] = ()


class MailApp(App):
    """Mails in folders: inbox, archive, sent, drafts, trash."""

    name = "mail"
    tables: ClassVar[tuple[str, ...]] = ("mails",)
    derived: ClassVar = {"mails": frozenset({"id", "sent_at"})}
    free = frozenset({("mails", "body")})
    sets = frozenset({("mails", "to"), ("mails", "labels")})
    titles: ClassVar = {"mails": "subject"}
    mails: dict[str, Mail]

    @call
    def search(
        self,
        *,
        query: Words = "",
        folder: str | None = None,
        label: Line | None = None,
        sender: Address | None = None,
        recipient: Address | None = None,
        unread: bool | None = None,
        since: Day | None = None,
        until: Day | None = None,
        limit: Limit = 20,
        offset: Offset = 0,
    ) -> dict[str, object]:
        """Find mails, newest first, in all folders or in one (inbox, archive, sent, drafts, trash).

        Every word of the query must occur in the subject or the text; case is ignored. `since` and `until` are days,
        both included. An argument that is None does not restrict the search.

        Example: {"items": [{"id": "m-4k2x9", "thread": "t-9d01b", "folder": "inbox", "sender": "sam@home.example",
        "to": ["ana@home.example"], "subject": "Garden fence", "sent_at": "2031-05-02T17:05", "unread": true,
        "labels": ["home"], "attachments": []}], "total": 1, "next_offset": null}
        """
        require(folder is None or folder in FOLDERS, f"folder must be one of {', '.join(FOLDERS)}; got {shown(folder)}")
        words = query.casefold().split()
        found = [
            mail
            for mail in self.mails.values()
            if folder in (None, mail.folder)
            and sender in (None, mail.sender)
            and (label is None or label in mail.labels)
            and (recipient is None or recipient in mail.to)
            and (unread is None or unread is not mail.is_read)
            and (since is None or since <= day_of(mail.sent_at))
            and (until is None or day_of(mail.sent_at) <= until)
            and _has(mail, words)
        ]
        return page(map(_summary, _newest_first(found)), limit, offset)

    @call
    def get(self, *, mail_id: str) -> dict[str, object]:
        """Return a mail with its text. It stays unread if it was; see `mark`.

        Example: {"id": "m-4k2x9", "thread": "t-9d01b", "folder": "inbox", "sender": "sam@home.example",
        "to": ["ana@home.example"], "subject": "Garden fence", "sent_at": "2031-05-02T17:05", "unread": true,
        "labels": ["home"], "attachments": ["offer.txt"], "body": "Hello Ana, ..."}
        """
        mail = self._find(mail_id)
        return {**_summary(mail), "body": mail.body}

    @call
    def thread(self, *, thread_id: str, limit: Limit = 20, offset: Offset = 0) -> dict[str, object]:
        """Return the mails of a thread, newest first, from all folders, with the same fields as `search`.

        Example: {"items": [{"id": "m-4k2x9", "thread": "t-9d01b", "folder": "inbox", "sender": "sam@home.example",
        "to": ["ana@home.example"], "subject": "Garden fence", "sent_at": "2031-05-02T17:05", "unread": true,
        "labels": [], "attachments": []}], "total": 1, "next_offset": null}
        """
        found = [mail for mail in self.mails.values() if mail.thread == thread_id]
        require(found, f"there is no thread {shown(thread_id)}; a mail has the id of its thread in the field 'thread'")
        return page(map(_summary, _newest_first(found)), limit, offset)

    @call
    def attachment(self, *, mail_id: str, name: Line) -> dict[str, object]:
        """Return the text of a mail's attachment.

        Example: {"name": "offer.txt", "text": "Fence, 12 m: 480.00"}
        """
        mail = self._find(mail_id)
        for attachment in mail.attachments:
            if attachment.name == name:
                return {"name": name, "text": attachment.text}
        names = ", ".join(attachment.name for attachment in mail.attachments) or "none"
        raise OfficeError(f"the mail {mail_id!r} has no attachment {shown(name)}; it has: {names}")

    @call
    def list_labels(self, *, limit: Limit = 20, offset: Offset = 0) -> dict[str, object]:
        """List the labels in use, with the number of mails that carry each.

        Example: {"items": [{"label": "home", "mails": 12}], "total": 1, "next_offset": null}
        """
        counts: dict[str, int] = {}
        for mail in self.mails.values():
            for label in mail.labels:
                counts[label] = counts.get(label, 0) + 1
        return page(({"label": label, "mails": counts[label]} for label in sorted(counts)), limit, offset)

    @call
    def send(self, *, to: Addresses, subject: Line, body: str, files: list[str] | None = None) -> dict[str, object]:
        """Send a new mail, which begins a thread. `files`: paths of files to attach.

        Example: {"id": "m-7p3aa", "thread": "t-0c44e"}
        """
        require(to, "to must name at least one address")
        attachments = self._attached(files or [])
        return self._send(self.world.new_id("t"), tuple(to), subject, body, attachments)

    @call
    def save_draft(self, *, to: Addresses, subject: Line, body: str) -> dict[str, object]:
        """Write a mail without sending it.

        Example: {"id": "m-7p3aa", "thread": "t-0c44e"}
        """
        return self._send(self.world.new_id("t"), tuple(to), subject, body, (), folder="drafts")

    @call
    def send_draft(self, *, mail_id: str) -> dict[str, object]:
        """Send a draft as it is; it goes from drafts to sent.

        Example: {"id": "m-7p3aa", "thread": "t-0c44e"}
        """
        mail = self._find(mail_id)
        require(mail.folder == "drafts", f"the mail {mail_id!r} is not a draft; it is in {mail.folder}")
        require(mail.to, f"the draft {mail_id!r} has no recipient")
        self.mails[mail.id] = replace(mail, folder="sent", sent_at=self.world.now)
        return {"id": mail.id, "thread": mail.thread}

    @call
    def reply(self, *, mail_id: str, body: str, to_all: bool = False) -> dict[str, object]:
        """Answer a mail in its thread: its sender, or everybody but yourself. An answer to a mail of your own goes to
        its recipients.

        Example: {"id": "m-7p3aa", "thread": "t-9d01b"}
        """
        mail, me = self._find(mail_id), self.world.address
        require(mail.folder != "drafts", f"the mail {mail_id!r} is a draft; only mails that were sent can be answered")
        everybody = dict.fromkeys((mail.sender, *mail.to)) if to_all or mail.sender == me else {mail.sender: None}
        others = tuple(address for address in everybody if address != me)
        require(others, f"the mail {mail_id!r} has nobody but you to answer")
        subject = mail.subject if mail.subject.startswith("Re: ") else f"Re: {mail.subject}"
        return self._send(mail.thread, others, subject, body, ())

    @call
    def forward(self, *, mail_id: str, to: Addresses, body: str = "") -> dict[str, object]:
        """Send a mail on, with its text below yours and its attachments. It begins a thread.

        Example: {"id": "m-7p3aa", "thread": "t-0c44e"}
        """
        mail = self._find(mail_id)
        require(to, "to must name at least one address")
        subject = mail.subject if mail.subject.startswith("Fwd: ") else f"Fwd: {mail.subject}"
        text = f"{body}\n\n{mail.sender} wrote on {mail.sent_at}:\n{mail.body}"
        return self._send(self.world.new_id("t"), tuple(to), subject, text, mail.attachments)

    @call
    def move(self, *, mail_id: str, folder: str) -> dict[str, object]:
        """Put a mail into another folder: inbox, archive or trash.

        Example: {"id": "m-4k2x9", "folder": "archive"}
        """
        mail = self._find(mail_id)
        require(folder in _TARGETS, f"folder must be one of {', '.join(_TARGETS)}; got {shown(folder)}")
        is_own = mail.folder in ("sent", "drafts")
        require(not is_own or folder == "trash", f"a mail in {mail.folder} can only be moved to trash")
        self.mails[mail.id] = replace(mail, folder=folder)
        return {"id": mail.id, "folder": folder}

    @call
    def mark(self, *, mail_id: str, read: bool) -> dict[str, object]:
        """Mark a mail as read or unread.

        Example: {"id": "m-4k2x9", "unread": false}
        """
        mail = self._find(mail_id)
        self.mails[mail.id] = replace(mail, is_read=read)
        return {"id": mail.id, "unread": not read}

    @call
    def add_label(self, *, mail_id: str, label: Line) -> dict[str, object]:
        """Put a label on a mail; a label that it already has is not an error.

        Example: {"id": "m-4k2x9", "labels": ["home", "urgent"]}
        """
        mail = self._find(mail_id)
        return self._label(mail, {*mail.labels, label})

    @call
    def remove_label(self, *, mail_id: str, label: Line) -> dict[str, object]:
        """Take a label from a mail.

        Example: {"id": "m-4k2x9", "labels": []}
        """
        mail = self._find(mail_id)
        has = ", ".join(mail.labels) or "none"
        require(label in mail.labels, f"the mail {mail_id!r} has no label {shown(label)}; it has: {has}")
        return self._label(mail, {*mail.labels} - {label})

    def _find(self, mail_id: str) -> Mail:
        return find(self.mails, mail_id, "mail", _LIST)

    def _label(self, mail: Mail, labels: Iterable[str]) -> dict[str, object]:
        self.mails[mail.id] = replace(mail, labels=tuple(sorted(labels)))
        return {"id": mail.id, "labels": sorted(labels)}

    def _attached(self, paths: list[str]) -> tuple[Attachment, ...]:
        files: Files = self.world.files
        return tuple(Attachment(name=path.rpartition("/")[2], text=files.find(path).text) for path in paths)

    def _send(
        self,
        thread: str,
        to: tuple[str, ...],
        subject: str,
        body: str,
        attachments: tuple[Attachment, ...],
        folder: str = "sent",
    ) -> dict[str, object]:
        mail = Mail(
            id=self.world.new_id("m"),
            thread=thread,
            folder=folder,
            sender=self.world.address,
            to=to,
            subject=subject,
            body=body,
            sent_at=self.world.now,
            attachments=attachments,
        )
        self.mails[mail.id] = mail
        return {"id": mail.id, "thread": thread}


def _has(mail: Mail, words: list[str]) -> bool:
    if not words:
        return True
    text = f"{mail.subject}\n{mail.body}".casefold()
    return all(word in text for word in words)


def _newest_first(mails: Iterable[Mail]) -> list[Mail]:
    by_id = sorted(mails, key=lambda mail: mail.id)
    return sorted(by_id, key=lambda mail: mail.sent_at, reverse=True)


def _summary(mail: Mail) -> dict[str, object]:
    return {
        "id": mail.id,
        "thread": mail.thread,
        "folder": mail.folder,
        "sender": mail.sender,
        "to": list(mail.to),
        "subject": mail.subject,
        "sent_at": mail.sent_at,
        "unread": not mail.is_read,
        "labels": list(mail.labels),
        "attachments": [attachment.name for attachment in mail.attachments],
    }
