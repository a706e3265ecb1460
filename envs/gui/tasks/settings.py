"""Tasks in the settings: users, rules, site settings, backups, keys, and the wizards."""

from __future__ import annotations

import random
from dataclasses import replace

from cairn.envs.gui.task import simple
from cairn.envs.gui.tasks._planting import admit
from cairn.envs.office.clock import day_of, days_later
from cairn.envs.office.fixtures import contacts
from cairn.envs.office.furniture import TEAMS
from cairn.envs.office.settings import CHANNELS, EVENTS, PARTS, PLACES, REASONS, RHYTHMS, ROLES, SITE
from cairn.envs.office.task import Plan, Step, step
from cairn.envs.office.world import World

_GUESTS = (("Orla Finch", "orla.finch@guest.example"), ("Pim Marsh", "pim.marsh@guest.example"),
           ("Romy Stone", "romy.stone@guest.example"))  # fmt: skip


def _role(world: World, rng: random.Random) -> Plan:
    name, address = rng.choice(_GUESTS)
    old, new = rng.sample(ROLES[:3], 2)
    admit(world, name, address, old)
    return Plan(
        instruction=f"Give the user {name} the role {new}.",
        steps=(step("settings", "update_user", address=address, role=new),),
    )


def _switch_rule(world: World, rng: random.Random) -> Plan:
    rule = world.settings.rules[rng.choice(sorted(world.settings.rules))]
    word = "off" if rule.is_on else "on"
    return Plan(
        instruction=f"Switch the notification rule {rule.name!r} {word}.",
        steps=(step("settings", "update_rule", name=rule.name, on=not rule.is_on),),
    )


def _language(world: World, rng: random.Random) -> Plan:
    name = rng.choice(("Language", "Time zone", "Currency"))
    value = rng.choice([each for each in SITE[name][1] if each != world.settings.site[name].value])
    return Plan(
        instruction=f"Set the site's {name.lower()} to {value}.",
        steps=(step("settings", "change_site", names=[name], values=[value]),),
    )


def _revoke(world: World, rng: random.Random) -> Plan:
    name = rng.choice(sorted(world.settings.keys))
    return Plan(
        instruction=f"The key {name!r} has leaked. Revoke it.",
        steps=(step("settings", "revoke_key", name=name),),
    )


def _backup_off(world: World, rng: random.Random) -> Plan:
    backup = world.settings.backups[rng.choice(sorted(world.settings.backups))]
    return Plan(
        instruction=f"Switch the backup {backup.name!r} {'off' if backup.is_on else 'on'}.",
        steps=(step("settings", "switch_backup", name=backup.name, on=not backup.is_on),),
    )


def _invite(world: World, rng: random.Random) -> Plan:
    (name, address), role, teams = rng.choice(_GUESTS), rng.choice(ROLES[:3]), sorted(rng.sample(TEAMS, 2))
    return Plan(
        instruction=f"Invite {name} ({address}) with the role {role} into the teams {teams[0]} and {teams[1]}.",
        steps=(step("settings", "invite", name=name, address=address, role=role, teams=teams),),
    )


def _new_rule(world: World, rng: random.Random) -> Plan:
    event, channel, target = rng.choice(EVENTS), rng.choice(CHANNELS), rng.choice(ROLES)
    return Plan(
        instruction=f"Make a notification rule 'Night watch': when the event '{event}' happens, tell every {target} by "
        f"{channel}.",
        steps=(step("settings", "create_rule", name="Night watch", event=event, channel=channel, target=target),),
    )


def _safer(world: World, rng: random.Random) -> Plan:
    for name, value in (("Two-factor sign-in", "off"), ("Session length in minutes", "480"), ("Currency", "EUR")):
        world.settings.site[name] = replace(world.settings.site[name], value=value)
    minutes, currency = rng.choice(("15", "30", "60")), rng.choice(("GBP", "TRY", "SEK"))
    names = ["Two-factor sign-in", "Session length in minutes", "Currency"]
    return Plan(
        instruction=f"Sign-in should require two factors, a session should last {minutes} minutes, and the currency "
        f"of the site should be {currency}.",
        steps=(step("settings", "change_site", names=names, values=["required", minutes, currency]),),
    )


def _count(world: World, rng: random.Random) -> Plan:
    role, team, people = rng.choice(ROLES[:3]), "Night shift", list(world.settings.users.values())
    for user in rng.sample([each for each in people if each.address != world.address], 9):
        world.settings.users[user.address] = replace(user, teams=tuple(sorted({*user.teams, team})))
    count = sum(each.role == role and team in each.teams for each in world.settings.users.values())
    return Plan(
        instruction=f"How many users in the team {team!r}, active or not, have the role {role}? Send me the number "
        "alone.",
        answer=count,
        looks=(step("settings", "list_users", query=team, role=role),),
    )


def _plan(world: World, rng: random.Random) -> Plan:
    name, part, rhythm = rng.choice(("Harvest", "Vault", "Attic")), rng.choice(PARTS), rng.choice(RHYTHMS)
    hour, place, days = f"{rng.randrange(1, 24):02}:00", rng.choice(PLACES), rng.randrange(10, 200)
    step_ = step(
        "settings", "plan_backup", name=name, part=part, rhythm=rhythm, hour=hour, place=place, keep_days=days
    )  # fmt: skip
    return Plan(
        instruction=f"Plan a backup {name!r} of {part}: {rhythm}, beginning at {hour}, to the {place}, and kept for "
        f"{days} days.",
        steps=(step_,),
    )


def _renew(world: World, rng: random.Random) -> Plan:
    today, keys = day_of(world.now), world.settings.keys
    for at, name in enumerate(rng.sample(sorted(keys), len(keys))):
        keys[name] = replace(keys[name], expires=days_later(today, 9 + 7 * at))
    first = min(keys.values(), key=lambda key: key.expires)
    expires, reason, grace = days_later(today, rng.randint(300, 400)), rng.choice(REASONS), rng.randrange(1, 30)
    step_ = step("settings", "renew_key", name=first.name, reason=reason, expires=expires, grace_days=grace)
    return Plan(
        instruction=f"Renew the key that expires first. The reason is '{reason}'; the new version should expire on "
        f"{expires}, and the old one stay good for {grace} days.",
        steps=(step_,),
    )


def _leave(world: World, rng: random.Random) -> Plan:
    team, steps = "Night shift", list[Step]()
    people = rng.sample([user for user in world.settings.users.values() if user.address != world.address], 4)
    for at, user in enumerate(people):
        teams = tuple(sorted({*user.teams, team}))
        world.settings.users[user.address] = replace(user, teams=teams, is_active=at != 3)
        if at != 3:
            steps.append(step("settings", "update_user", address=user.address, active=False))
    return Plan(
        instruction=f"The team {team!r} was given up: make all its users inactive. They keep their teams and roles.",
        steps=tuple(steps),
    )


def _retarget(world: World, rng: random.Random) -> Plan:
    (who,), steps = contacts(world, rng, 1), list[Step]()
    old = admit(world, *rng.choice(_GUESTS), "editor")
    admit(world, who.name, who.address, "manager")
    chosen = rng.sample(sorted(world.settings.rules), 2)
    for name in chosen:
        world.settings.rules[name] = replace(world.settings.rules[name], target=old.address)
        steps.append(step("settings", "update_rule", name=name, target=who.address))
    steps.append(step("settings", "update_user", address=old.address, role="viewer"))
    return Plan(
        instruction=f"{old.name} hands over to {who.name}: every notification that goes to {old.address} should go to "
        f"{who.address} instead, and {old.name} should have the role viewer.",
        steps=tuple(steps),
    )


TEMPLATES = (
    simple("settings-role", 1, "settings", _role),
    simple("settings-switch-rule", 1, "settings", _switch_rule),
    simple("settings-region", 1, "settings", _language),
    simple("settings-revoke-key", 1, "settings", _revoke),
    simple("settings-switch-backup", 1, "settings", _backup_off),
    simple("settings-invite", 2, "settings", _invite),
    simple("settings-new-rule", 2, "settings", _new_rule),
    simple("settings-safer", 2, "settings", _safer),
    simple("settings-count-users", 2, "settings", _count),
    simple("settings-plan-backup", 3, "settings", _plan),
    simple("settings-renew-first-key", 3, "settings", _renew),
    simple("settings-end-team", 3, "settings", _leave),
    simple("settings-hand-over", 3, "settings", _retarget),
)
