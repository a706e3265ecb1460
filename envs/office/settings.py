"""Settings: users and roles, notification rules, site settings, backups, and keys.

Some actions that need several steps on pages (inviting a user, planning a backup, renewing a key) are one atomic call
here. Not supported: passwords, and the effects of the settings.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, replace
from typing import ClassVar

from cairn.envs.office.app import App, find, require
from cairn.envs.office.calls import Address, Count, Day, Limit, Line, Offset, Texts, Words, call, page, shown
from cairn.envs.office.clock import day_of

ROLES = ("viewer", "editor", "manager", "administrator")
EVENTS = ("issue assigned", "issue closed", "payment failed", "backup failed", "new user", "storage full")
CHANNELS = ("mail", "chat", "text message")
SCOPES = ("read", "write", "deploy")
PARTS = ("everything", "mail", "files", "sheets", "issues")
RHYTHMS = ("hourly", "daily", "weekly", "monthly")
REASONS = ("regular renewal", "key was lost", "key was seen by others", "somebody left")  # reasons for a key's renewal
PLACES = ("local disk", "Northside vault", "Harbor cloud")
# Each setting with its tab and its choices; without choices, any line is valid.
SITE: dict[str, tuple[str, tuple[str, ...]]] = {
    "Site name": ("General", ()),
    "Support address": ("General", ()),
    "Start page": ("General", ("Dashboard", "Mail", "Calendar", "Issues")),
    "Maintenance mode": ("General", ("off", "on")),
    "Language": ("Region", ("English", "German", "French", "Turkish", "Finnish")),
    "Time zone": ("Region", ("UTC", "Europe/London", "Europe/Berlin", "Europe/Istanbul", "Europe/Helsinki")),
    "First day of the week": ("Region", ("Monday", "Saturday", "Sunday")),
    "Currency": ("Region", ("EUR", "GBP", "TRY", "SEK")),
    "Two-factor sign-in": ("Security", ("off", "optional", "required")),
    "Session length in minutes": ("Security", ("15", "30", "60", "240", "480")),
    "Shortest password": ("Security", ("8", "10", "12", "16")),
    "Sign-up by anybody": ("Security", ("off", "on")),
}


@dataclass(frozen=True, kw_only=True, slots=True)
class User:
    """A user of the site."""

    address: str
    name: str
    role: str
    teams: tuple[str, ...] = ()  # sorted
    is_active: bool = True
    invited_on: str = ""  # day; "" if unknown


@dataclass(frozen=True, kw_only=True, slots=True)
class Rule:
    """A rule that notifies a target of an event."""

    name: str
    event: str
    channel: str
    target: str  # recipients: a role or an address
    is_on: bool = True


@dataclass(frozen=True, kw_only=True, slots=True)
class Setting:
    """A value of one site setting."""

    name: str  # one of `SITE`
    value: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Backup:
    """A schedule of backups."""

    name: str
    part: str
    rhythm: str
    hour: str  # start time, like 02:00
    place: str
    keep_days: int
    is_on: bool = True


@dataclass(frozen=True, kw_only=True, slots=True)
class Key:
    """A program's credential."""

    name: str
    scope: str
    expires: str  # day
    version: int = 1
    renewed_on: str = ""  # day
    reason: str = ""  # reason of the last renewal
    grace_days: int = 0  # days for which the previous version stays valid
    is_revoked: bool = False


class Settings(App):
    """Users and roles, notification rules, the site's values, backups and keys."""

    name = "settings"
    tables: ClassVar[tuple[str, ...]] = ("users", "rules", "site", "backups", "keys")
    derived: ClassVar = {"users": frozenset({"invited_on"}), "keys": frozenset({"renewed_on"})}
    sets = frozenset({("users", "teams")})
    users: dict[str, User]  # by address
    rules: dict[str, Rule]
    site: dict[str, Setting]
    backups: dict[str, Backup]
    keys: dict[str, Key]

    @call
    def list_users(
        self, *, query: Words = "", role: str | None = None, limit: Limit = 20, offset: Offset = 0
    ) -> dict[str, object]:
        """List the users by name.

        Every word of the query occurs in name, address or a team, case ignored.

        Example: {"items": [{"address": "sam@home.example", "name": "Sam Field", "role": "editor",
        "teams": ["Design"], "active": true}], "total": 1, "next_offset": null}
        """
        _require_one_of("role", role, ROLES)
        words = query.casefold().split()
        found = [
            user
            for user in self.users.values()
            if role in (None, user.role)
            and all(word in "\n".join((user.name, user.address, *user.teams)).casefold() for word in words)
        ]
        return page(map(_user_json, sorted(found, key=lambda user: (user.name, user.address))), limit, offset)

    @call
    def invite(self, *, address: Address, name: Line, role: str, teams: Texts | None = None) -> dict[str, object]:
        """Add a user to the site.

        Example: {"address": "sam@home.example"}
        """
        _require_one_of("role", role, ROLES)
        require(address not in self.users, f"there is a user with the address {address} already")
        found = tuple(sorted(set(teams or ())))
        self.users[address] = User(
            address=address, name=name, role=role, teams=found, invited_on=day_of(self.world.now)
        )  # fmt: skip
        return {"address": address}

    @call
    def update_user(
        self,
        *,
        address: Address,
        role: str | None = None,
        teams: Texts | None = None,
        active: bool | None = None,
    ) -> dict[str, object]:
        """Change a user; None keeps a value. One active administrator must remain.

        Example: {"address": "sam@home.example"}
        """
        _require_one_of("role", role, ROLES)
        old = find(self.users, address, "user", "settings.list_users lists them")
        user = replace(
            old,
            role=role or old.role,
            teams=old.teams if teams is None else tuple(sorted(set(teams))),
            is_active=old.is_active if active is None else active,
        )
        others = [each for each in self.users.values() if each is not old]
        is_led = any(each.is_active and each.role == "administrator" for each in (user, *others))
        require(is_led, "at least one active administrator must remain")
        self.users[address] = user
        return {"address": address}

    @call
    def list_rules(self, *, limit: Limit = 20, offset: Offset = 0) -> dict[str, object]:
        """List the notification rules by name.

        Example: {"items": [{"name": "Tell me", "event": "backup failed", "channel": "mail",
        "target": "administrator", "on": true}], "total": 1, "next_offset": null}
        """
        return page((_rule_json(self.rules[name]) for name in sorted(self.rules)), limit, offset)

    @call
    def create_rule(self, *, name: Line, event: str, channel: str, target: Line) -> dict[str, object]:
        """Add a notification rule, switched on. The target is a role or an address.

        Example: {"name": "Tell me"}
        """
        require(name not in self.rules, f"there is a rule {shown(name)} already")
        return self._keep_rule(Rule(name=name, event=event, channel=channel, target=target))

    @call
    def update_rule(
        self,
        *,
        name: Line,
        event: str | None = None,
        channel: str | None = None,
        target: Line | None = None,
        on: bool | None = None,
    ) -> dict[str, object]:
        """Change a notification rule; None keeps a value.

        Example: {"name": "Tell me"}
        """
        old = find(self.rules, name, "rule", "settings.list_rules lists them")
        return self._keep_rule(
            replace(
                old,
                event=event or old.event,
                channel=channel or old.channel,
                target=target or old.target,
                is_on=old.is_on if on is None else on,
            )
        )

    @call
    def delete_rule(self, *, name: Line) -> dict[str, object]:
        """Delete a notification rule permanently.

        Example: {"name": "Tell me", "deleted": true}
        """
        del self.rules[find(self.rules, name, "rule", "settings.list_rules lists them").name]
        return {"name": name, "deleted": True}

    @call
    def list_site(self, *, limit: Limit = 20, offset: Offset = 0) -> dict[str, object]:
        """List the site's settings.

        Example: {"items": [{"name": "Currency", "value": "EUR"}], "total": 1, "next_offset": null}
        """
        found = [self.site[name] for name in SITE if name in self.site]
        return page(({"name": each.name, "value": each.value} for each in found), limit, offset)

    @call
    def change_site(self, *, names: Texts, values: Texts) -> dict[str, object]:
        """Change settings of the site, all or none; `values` has a value for each name.

        Example: {"names": ["Currency"]}
        """
        require(len(names) == len(values), f"values must be {len(names)}, one for each name; got {len(values)}")
        for name, value in zip(names, values, strict=True):
            find(self.site, name, "setting", "settings.list_site lists them")
            choices = SITE[name][1]
            require(value.strip(), f"{name} must not be empty")
            require(not choices or value in choices, f"{name} must be one of {', '.join(choices)}; got {shown(value)}")
        self.site.update({n: Setting(name=n, value=v) for n, v in zip(names, values, strict=True)})
        return {"names": names}

    @call
    def list_backups(self, *, limit: Limit = 20, offset: Offset = 0) -> dict[str, object]:
        """List the backup plans by name.

        Example: {"items": [{"name": "Nightly", "part": "everything", "rhythm": "daily", "hour": "02:00",
        "place": "local disk", "keep_days": 30, "on": true}], "total": 1, "next_offset": null}
        """
        return page((_backup_json(self.backups[name]) for name in sorted(self.backups)), limit, offset)

    @call
    def plan_backup(
        self, *, name: Line, part: str, rhythm: str, hour: str, place: str, keep_days: Count
    ) -> dict[str, object]:
        """Add a backup plan, switched on.

        Example: {"name": "Nightly"}
        """
        require(name not in self.backups, f"there is a backup {shown(name)} already")
        _require_one_of("part", part, PARTS)
        _require_one_of("rhythm", rhythm, RHYTHMS)
        _require_one_of("place", place, PLACES)
        _require_one_of("hour", hour, [f"{hour:02}:00" for hour in range(24)])
        self.backups[name] = Backup(
            name=name, part=part, rhythm=rhythm, hour=hour, place=place, keep_days=keep_days
        )  # fmt: skip
        return {"name": name}

    @call
    def switch_backup(self, *, name: Line, on: bool) -> dict[str, object]:
        """Switch a backup on or off.

        Example: {"name": "Nightly", "on": false}
        """
        old = find(self.backups, name, "backup", "settings.list_backups lists them")
        self.backups[name] = replace(old, is_on=on)
        return {"name": name, "on": on}

    @call
    def list_keys(self, *, limit: Limit = 20, offset: Offset = 0) -> dict[str, object]:
        """List the keys by name.

        Example: {"items": [{"name": "Print robot", "scope": "read", "expires": "2031-08-01", "version": 2,
        "reason": "key was lost", "grace_days": 7, "revoked": false}], "total": 1, "next_offset": null}
        """
        return page((_key_json(self.keys[name]) for name in sorted(self.keys)), limit, offset)

    @call
    def renew_key(self, *, name: Line, reason: str, grace_days: Count, expires: Day) -> dict[str, object]:
        """Replace a key by its next version; the previous version stays valid for `grace_days`.

        Example: {"name": "Print robot", "version": 3}
        """
        old = self._key(name)
        _require_one_of("reason", reason, REASONS)
        today = day_of(self.world.now)
        require(expires > today, f"expires must be after today, {today}; got {expires}")
        self.keys[name] = replace(
            old, version=old.version + 1, expires=expires, reason=reason, grace_days=grace_days, renewed_on=today
        )
        return {"name": name, "version": old.version + 1}

    @call
    def revoke_key(self, *, name: Line) -> dict[str, object]:
        """Revoke a key permanently.

        Example: {"name": "Print robot", "revoked": true}
        """
        self.keys[name] = replace(self._key(name), is_revoked=True)
        return {"name": name, "revoked": True}

    def _key(self, name: str) -> Key:
        key = find(self.keys, name, "key", "settings.list_keys lists them")
        require(not key.is_revoked, f"the key {shown(name)} is revoked")
        return key

    def _keep_rule(self, rule: Rule) -> dict[str, object]:
        _require_one_of("event", rule.event, EVENTS)
        _require_one_of("channel", rule.channel, CHANNELS)
        is_known = rule.target in ROLES or rule.target in self.users
        require(is_known, f"target must be a user's address or one of {', '.join(ROLES)}; got {shown(rule.target)}")
        self.rules[rule.name] = rule
        return {"name": rule.name}


def _require_one_of(what: str, value: str | None, known: Collection[str]) -> None:
    require(value is None or value in known, f"{what} must be one of {', '.join(known)}; got {shown(value)}")


def _user_json(user: User) -> dict[str, object]:
    return {
        "address": user.address,
        "name": user.name,
        "role": user.role,
        "teams": list(user.teams),
        "active": user.is_active,
    }


def _rule_json(rule: Rule) -> dict[str, object]:
    return {
        "name": rule.name,
        "event": rule.event,
        "channel": rule.channel,
        "target": rule.target,
        "on": rule.is_on,
    }  # fmt: skip


def _backup_json(backup: Backup) -> dict[str, object]:
    return {
        "name": backup.name,
        "part": backup.part,
        "rhythm": backup.rhythm,
        "hour": backup.hour,
        "place": backup.place,
        "keep_days": backup.keep_days,
        "on": backup.is_on,
    }


def _key_json(key: Key) -> dict[str, object]:
    return {
        "name": key.name,
        "scope": key.scope,
        "expires": key.expires,
        "version": key.version,
        "reason": key.reason,
        "grace_days": key.grace_days,
        "revoked": key.is_revoked,
    }
