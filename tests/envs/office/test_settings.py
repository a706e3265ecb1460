"""Settings: each call's result and refusals, in a tiny office."""

from __future__ import annotations

from typing import Any

from cairn.envs.office.settings import SITE
from cairn.envs.office.world import World
from tests.envs.office.desk import desk
from tests.envs.office.refusals import refused
from tests.envs.office.tiny import ANA, SAM, ZOE

BO = "bo@home.example"


def call(world: World, name: str, /, **arguments: object) -> Any:
    return world.call("settings", name, arguments)


def addresses(found: Any) -> list[str]:
    return [each["address"] for each in found["items"]]


def test_users_are_found_by_name_address_team_and_role() -> None:
    assert addresses(call(desk(), "list_users")) == [ANA, SAM, ZOE]
    assert addresses(call(desk(), "list_users", query="design")) == [SAM]
    assert addresses(call(desk(), "list_users", role="viewer")) == [ZOE]
    assert call(desk(), "list_users", query="sam@")["items"] == [
        {"address": SAM, "name": "Sam Field", "role": "editor", "teams": ["Design"], "active": True}
    ]
    refused(desk(), "settings", "list_users", "role must be one of", role="boss")


def test_inviting_makes_an_active_user_once() -> None:
    world = desk()
    call(world, "invite", address=BO, name="Bo", role="viewer", teams=["Sales", "Design", "Sales"])
    user = world.settings.users[BO]
    assert (user.teams, user.is_active, user.invited_on) == (("Design", "Sales"), True, "2031-05-05")
    refused(world, "settings", "invite", "already", address=BO, name="Bo", role="viewer")
    refused(world, "settings", "invite", "role must be one of", address="x@home.example", name="X", role="")


def test_an_active_administrator_always_remains() -> None:
    world = desk()
    refused(world, "settings", "update_user", "one active administrator", address=ANA, role="viewer")
    refused(world, "settings", "update_user", "one active administrator", address=ANA, active=False)
    call(world, "update_user", address=SAM, role="administrator", teams=[])
    call(world, "update_user", address=ANA, role="viewer")
    assert (world.settings.users[SAM].teams, world.settings.users[ANA].role) == ((), "viewer")
    refused(world, "settings", "update_user", f"there is no user '{BO}'", address=BO, role="viewer")


def test_the_target_of_a_rule_must_be_an_existing_user_or_role() -> None:
    world = desk()
    call(world, "create_rule", name="New", event="new user", channel="chat", target=SAM)
    good = {"name": "Other", "event": "new user", "channel": "chat", "target": "manager"}
    refused(world, "settings", "create_rule", "already", **{**good, "name": "New"})
    refused(world, "settings", "create_rule", "target must be a user's address or one of", **{**good, "target": BO})
    refused(world, "settings", "create_rule", "event must be one of", **{**good, "event": "rain"})
    call(world, "update_rule", name="New", channel="mail", on=False)
    assert call(world, "list_rules")["items"][0] == {
        "name": "New", "event": "new user", "channel": "mail", "target": SAM, "on": False,
    }  # fmt: skip
    call(world, "delete_rule", name="New")
    refused(world, "settings", "delete_rule", "there is no rule 'New'", name="New")


def test_the_sites_values_are_changed_all_or_none() -> None:
    world = desk()
    refused(
        world, "settings", "change_site", "Language must be one of", names=["Currency", "Language"],
        values=["GBP", "Dutch"],
    )  # fmt: skip
    call(world, "change_site", names=["Currency", "Site name"], values=["GBP", "Ours"])
    reported = {each["name"]: each["value"] for each in call(world, "list_site")["items"]}
    assert reported == {"Site name": "Ours", "Language": "English", "Currency": "GBP"}
    refused(world, "settings", "change_site", "must not be empty", names=["Site name"], values=[" "])
    refused(world, "settings", "change_site", "one for each name", names=["Site name"], values=[])
    refused(world, "settings", "change_site", "there is no setting 'Colour'", names=["Colour"], values=["red"])
    assert all(len(set(choices)) == len(choices) for _, choices in SITE.values())


def test_backups_are_planned_and_switched() -> None:
    world = desk()
    good = {"name": "Hourly", "part": "mail", "rhythm": "hourly", "hour": "00:00", "place": "local disk"}
    call(world, "plan_backup", **good, keep_days=7)
    assert call(world, "list_backups")["items"][0]["on"]
    call(world, "switch_backup", name="Hourly", on=False)
    assert not world.settings.backups["Hourly"].is_on
    refused(world, "settings", "plan_backup", "already", **good, keep_days=7)
    refused(
        world, "settings", "plan_backup", "hour must be one of", **{**good, "name": "A", "hour": "2:00"}, keep_days=7
    )
    refused(world, "settings", "plan_backup", "from 1 to 999", **{**good, "name": "A"}, keep_days=0)


def test_renewing_a_key_makes_its_next_version() -> None:
    world, given = desk(), {"name": "Robot", "reason": "key was lost", "grace_days": 3}
    refused(world, "settings", "renew_key", "after today, 2031-05-05", **given, expires="2031-05-05")
    assert call(world, "renew_key", **given, expires="2031-12-01") == {"name": "Robot", "version": 3}
    key = world.settings.keys["Robot"]
    assert (key.expires, key.reason, key.grace_days, key.renewed_on) == ("2031-12-01", "key was lost", 3, "2031-05-05")
    refused(world, "settings", "renew_key", "reason must be one of", **{**given, "reason": "?"}, expires="2032-01-01")


def test_a_revoked_key_is_gone_for_good() -> None:
    world = desk()
    call(world, "revoke_key", name="Robot")
    refused(world, "settings", "revoke_key", "is revoked", name="Robot")
    refused(world, "settings", "revoke_key", "is revoked", name="Old")
