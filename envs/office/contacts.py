"""Contacts: people with their addresses, and groups of contacts.

Names are not unique; addresses distinguish people.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

from cairn.envs.office.app import App, find, require
from cairn.envs.office.calls import Addresses, Day, Limit, Line, Month, Offset, Words, call, page, shown

MAX_GROUPS = 200
_LIST = "contacts.search lists contacts"
_GROUPS = "contacts.list_groups lists groups"


@dataclass(frozen=True, kw_only=True, slots=True)
class Contact:
    """A person."""

    id: str
    name: str
    emails: tuple[str, ...]  # the main one first
    phone: str = ""
    birthday: str = ""  # day
    company: str = ""

    @property
    def address(self) -> str:
        """The main mail address."""
        return self.emails[0]


@dataclass(frozen=True, kw_only=True, slots=True)
class ContactGroup:
    """A named set of contacts."""

    name: str
    members: tuple[str, ...]  # contact ids, sorted


class Contacts(App):
    """People and groups of people."""

    name = "contacts"
    tables: ClassVar[tuple[str, ...]] = ("contacts", "groups")
    derived: ClassVar = {"contacts": frozenset({"id"})}
    sets = frozenset({("groups", "members")})
    contacts: dict[str, Contact]
    groups: dict[str, ContactGroup]

    @call
    def search(
        self,
        *,
        query: Words = "",
        company: Words | None = None,
        birthday_month: Month | None = None,
        limit: Limit = 20,
        offset: Offset = 0,
    ) -> dict[str, object]:
        """Find contacts, by name: every word of the query occurs in name, address or phone, case ignored.

        `company` must be the whole name. An argument that is None does not restrict the search.

        Example: {"items": [{"id": "c-2m8xw", "name": "Sam Field", "emails": ["sam@home.example"],
        "phone": "+44 20 5550 1234", "birthday": "1994-02-11", "company": "Brightwater"}], "total": 1,
        "next_offset": null}
        """
        words = query.casefold().split()
        found = [
            contact
            for contact in self.contacts.values()
            if company in (None, contact.company)
            and (birthday_month is None or contact.birthday[5:7] == f"{birthday_month:02}")
            and _has(contact, words)
        ]
        return page(map(_contact_json, sorted(found, key=lambda contact: (contact.name, contact.id))), limit, offset)

    @call
    def get(self, *, contact_id: str) -> dict[str, object]:
        """Return a contact; the first of the emails is the main one, an unknown phone or birthday is "".

        Example: {"id": "c-2m8xw", "name": "Sam Field", "emails": ["sam@home.example"],
        "phone": "+44 20 5550 1234", "birthday": "1994-02-11", "company": "Brightwater"}
        """
        return _contact_json(self._find(contact_id))

    @call
    def create(
        self, *, name: Line, emails: Addresses, phone: Words = "", birthday: Day | None = None, company: Words = ""
    ) -> dict[str, object]:
        """Make a contact. Nothing checks whether there is one with the same name.

        Example: {"id": "c-80c1f"}
        """
        require(emails, "emails must have at least one address")
        contact = Contact(
            id=self.world.new_id("c"),
            name=name,
            emails=tuple(emails),
            phone=phone,
            birthday=birthday or "",
            company=company,
        )
        self.contacts[contact.id] = contact
        return {"id": contact.id}

    @call
    def update(
        self,
        *,
        contact_id: str,
        name: Line | None = None,
        emails: Addresses | None = None,
        phone: Words | None = None,
        birthday: Day | None = None,
        company: Words | None = None,
    ) -> dict[str, object]:
        """Change a contact; fields that are None stay unchanged, and `emails` replaces the whole list.

        Example: {"id": "c-2m8xw", "name": "Sam Field", "emails": ["sam@work.example"],
        "phone": "+44 20 5550 1234", "birthday": "", "company": "Brightwater"}
        """
        old = self._find(contact_id)
        require(emails is None or emails, "emails must have at least one address")
        contact = replace(
            old,
            name=old.name if name is None else name,
            emails=old.emails if emails is None else tuple(emails),
            phone=old.phone if phone is None else phone,
            birthday=old.birthday if birthday is None else birthday,
            company=old.company if company is None else company,
        )
        self.contacts[contact.id] = contact
        return _contact_json(contact)

    @call
    def merge(self, *, keep_id: str, other_id: str) -> dict[str, object]:
        """Merge two contacts. The kept one gets the other's addresses after its own, and the other's phone, birthday
        and company where it has none; it takes the other's place in groups, and the other is deleted.

        Example: {"id": "c-2m8xw", "name": "Sam Field", "emails": ["sam@home.example", "sam@work.example"],
        "phone": "+44 20 5550 1234", "birthday": "", "company": "Brightwater"}
        """
        require(keep_id != other_id, "keep_id and other_id must differ")
        kept, other = self._find(keep_id), self._find(other_id)
        contact = replace(
            kept,
            emails=tuple(dict.fromkeys((*kept.emails, *other.emails))),
            phone=kept.phone or other.phone,
            birthday=kept.birthday or other.birthday,
            company=kept.company or other.company,
        )
        for group in [group for group in self.groups.values() if other_id in group.members]:
            self._set_members(group, {*group.members, keep_id} - {other_id})
        self.contacts[keep_id] = contact
        del self.contacts[other_id]
        return _contact_json(contact)

    @call
    def delete(self, *, contact_id: str) -> dict[str, object]:
        """Delete a contact for good; it leaves all groups.

        Example: {"id": "c-2m8xw", "deleted": true}
        """
        self._find(contact_id)
        for group in [group for group in self.groups.values() if contact_id in group.members]:
            self._set_members(group, {*group.members} - {contact_id})
        del self.contacts[contact_id]
        return {"id": contact_id, "deleted": True}

    @call
    def list_groups(self, *, limit: Limit = 20, offset: Offset = 0) -> dict[str, object]:
        """List the groups by name.

        Example: {"items": [{"name": "Book club", "size": 6}], "total": 1, "next_offset": null}
        """
        groups = [self.groups[name] for name in sorted(self.groups)]
        return page(({"name": group.name, "size": len(group.members)} for group in groups), limit, offset)

    @call
    def members(self, *, group: Line, limit: Limit = 20, offset: Offset = 0) -> dict[str, object]:
        """List the contacts in a group by name, with the same fields as `search`.

        Example: {"items": [{"id": "c-2m8xw", "name": "Sam Field", "emails": ["sam@home.example"],
        "phone": "+44 20 5550 1234", "birthday": "1994-02-11", "company": "Brightwater"}], "total": 1,
        "next_offset": null}
        """
        people = [self.contacts[each] for each in self._find_group(group).members]
        return page(map(_contact_json, sorted(people, key=lambda contact: (contact.name, contact.id))), limit, offset)

    @call
    def create_group(self, *, group: Line) -> dict[str, object]:
        """Make a group without members.

        Example: {"name": "Book club", "size": 0}
        """
        require(len(self.groups) < MAX_GROUPS, f"there can be at most {MAX_GROUPS} groups")
        require(group not in self.groups, f"there is a group {shown(group)} already")
        return self._set_members(ContactGroup(name=group, members=()), set())

    @call
    def add_to_group(self, *, group: Line, contact_id: str) -> dict[str, object]:
        """Put a contact into a group; a contact that is already in it is not an error.

        Example: {"name": "Book club", "size": 7}
        """
        found = self._find_group(group)
        return self._set_members(found, {*found.members, self._find(contact_id).id})

    @call
    def remove_from_group(self, *, group: Line, contact_id: str) -> dict[str, object]:
        """Take a contact out of a group.

        Example: {"name": "Book club", "size": 5}
        """
        found = self._find_group(group)
        require(contact_id in found.members, f"the group {shown(group)} has no member {shown(contact_id)}")
        return self._set_members(found, {*found.members} - {contact_id})

    def _find(self, contact_id: str) -> Contact:
        return find(self.contacts, contact_id, "contact", _LIST)

    def _find_group(self, name: str) -> ContactGroup:
        return find(self.groups, name, "group", _GROUPS)

    def _set_members(self, group: ContactGroup, members: set[str]) -> dict[str, object]:
        self.groups[group.name] = replace(group, members=tuple(sorted(members)))
        return {"name": group.name, "size": len(members)}


def _has(contact: Contact, words: list[str]) -> bool:
    text = "\n".join((contact.name, contact.phone, *contact.emails)).casefold()
    return all(word in text for word in words)


def _contact_json(contact: Contact) -> dict[str, object]:
    return {
        "id": contact.id,
        "name": contact.name,
        "emails": list(contact.emails),
        "phone": contact.phone,
        "birthday": contact.birthday,
        "company": contact.company,
    }
