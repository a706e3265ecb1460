"""Settings application: users, notifications, site, backups and keys, and three wizards.

The wizards keep their answers in the address (see `wizard`), so that an abandoned one has no effect.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from cairn.envs.gui.apps._settings_wizards import BACKUP, INVITE, RENEW
from cairn.envs.gui.locate import Json, everything, turn_to
from cairn.envs.gui.parts import (
    Button,
    FactList,
    Field,
    Form,
    Link,
    Nav,
    Page,
    Row,
    Table,
    address,
    choices,
    distinct,
    pager,
)
from cairn.envs.gui.site import Place, Site, Visit
from cairn.envs.gui.ui_actions import Deed, check, click, fill, goto, search, select, texts
from cairn.envs.office.settings import CHANNELS, EVENTS, ROLES, SITE
from cairn.envs.office.task import Step
from cairn.envs.office.world import World

TABS = (("Users", "/"), ("Notifications", "/rules"), ("Site", "/site"), ("Backups", "/backups"), ("Keys", "/keys"))


def _tabs(current: str) -> Nav:
    links = [Link(text=text, to=to, is_current=text == current) for text, to in TABS]
    return Nav(name="Settings", looks="tabs", links=links)


def _user_name(user: Json) -> str:
    return f"{user['name']}, {user['address']}"


def _users(visit: Visit) -> Page:
    words, role = visit.value("q"), visit.value("role")
    found = visit.listed("settings", "list_users", query=words, role=role or None)
    names = distinct([_user_name(user) for user in found["items"]])
    rows = [
        Row(
            cells=(
                Link(text=user["name"], to=address("/user", address=user["address"]), name=name), user["address"],
                user["role"], ", ".join(user["teams"]), "active" if user["active"] else "inactive",
            )
        )
        for user, name in zip(found["items"], names, strict=True)
    ]  # fmt: skip
    look = Form(
        to="/",
        is_get=True,
        submits=(("", "Search"),),
        fields=(
            Field(label="Search users", name="q", kind="search", value=words),
            Field(label="Role", name="role", kind="select", value=role, options=choices(ROLES, "any role")),
        ),
    )
    ways = Nav(name="Users", links=(Link(text="Invite a user", to="/invite/1"),))
    table = Table(caption=f"{found['total']} users", columns=("Name", "Address", "Role", "Teams", "State"), rows=rows)
    pages = pager("/", found["total"], visit.page(), q=words, role=role)
    return Page(title="Users", parts=(_tabs("Users"), ways, look, table, pages))


def _user(visit: Visit) -> Page:
    who = visit.query.get("address", "")
    user = next((each for each in visit.everything("settings", "list_users") if each["address"] == who), None)
    if user is None:
        return Page(title="There is no such user", parts=(_tabs("Users"),))
    form = Form(
        to=address("/user", address=who),
        fields=(
            Field(label="Role", name="role", kind="select", value=visit.value("role", user["role"]),
                  options=choices(ROLES)),
            Field(label="Teams", name="teams", value=visit.value("teams", ", ".join(user["teams"])),
                  hint="names, with commas between them"),
            Field(label="State", name="active", kind="radio", value="yes" if user["active"] else "no",
                  options=(("yes", "active"), ("no", "inactive"))),
        ),
    )  # fmt: skip
    return Page(title=user["name"], parts=(_tabs("Users"), FactList(pairs=(("Address", who),)), form))


def _user_saved(visit: Visit) -> str:
    who = visit.query.get("address", "")
    visit.perform("settings", "update_user", address=who)
    return address("/user", address=who)


def _rules(visit: Visit) -> Page:
    rows = [
        Row(
            cells=(
                Link(text=each["name"], to=address("/rule", name=each["name"]), name=f"Rule {each['name']}"),
                each["event"], each["channel"], each["target"], "on" if each["on"] else "off",
            ),
            buttons=(
                _switch("/rule", each),
                Button(text="Delete", name=f"Delete: {each['name']}", to=address("/no-rule", name=each["name"]),
                       question=f"Delete the rule {each['name']}?"),
            ),
        )
        for each in visit.everything("settings", "list_rules")
    ]  # fmt: skip
    table = Table(caption="Rules", columns=("Name", "When", "By", "Whom", "State"), rows=rows)
    ways = Nav(name="Rules", links=(Link(text="New rule", to="/new-rule"),))
    return Page(title="Notifications", parts=(_tabs("Notifications"), ways, table))


def _switch(to: str, each: Json) -> Button:
    text = "Switch off" if each["on"] else "Switch on"
    values = {"on": "no" if each["on"] else "yes"}
    return Button(text=text, name=f"{text}: {each['name']}", to=address(to, name=each["name"]), values=values)


def _rule_fields(visit: Visit, old: Json) -> list[Field]:
    return [
        Field(label="When", name="event", kind="select", value=visit.value("event", old["event"]),
              options=choices(EVENTS)),
        Field(label="By", name="channel", kind="radio", value=visit.value("channel", old["channel"]),
              options=choices(CHANNELS)),
        Field(label="Whom", name="target", value=visit.value("target", old["target"]),
              hint=f"a user's address, or {', '.join(ROLES)}"),
    ]  # fmt: skip


def _new_rule(visit: Visit) -> Page:
    old = {"event": EVENTS[0], "channel": CHANNELS[0], "target": ""}
    fields = (Field(label="Name", name="name", value=visit.value("name")), *_rule_fields(visit, old))
    form = Form(to="/new-rule", submits=(("", "Create rule"),), fields=fields)
    return Page(title="New rule", parts=(_tabs("Notifications"), form))


def _rule(visit: Visit) -> Page:
    name = visit.query.get("name", "")
    old = next((each for each in visit.everything("settings", "list_rules") if each["name"] == name), None)
    if old is None:
        return Page(title="There is no such rule", parts=(_tabs("Notifications"),))
    form = Form(to=address("/rule", name=name), fields=_rule_fields(visit, old))
    return Page(title=f"Rule {name}", parts=(_tabs("Notifications"), form))


def _site(visit: Visit) -> Page:
    tabs = list(dict.fromkeys(tab for tab, _ in SITE.values()))
    tab = visit.query.get("tab", "") if visit.query.get("tab", "") in tabs else tabs[0]
    values = {each["name"]: each["value"] for each in visit.everything("settings", "list_site")}
    fields = [
        Field(
            label=name, name=name, value=visit.value(name, values[name]), kind="select" if options else "text",
            options=choices(options),
        )
        for name, (of, options) in SITE.items()
        if of == tab and name in values
    ]  # fmt: skip
    links = [Link(text=each, to=address("/site", tab=each), is_current=each == tab) for each in tabs]
    form = Form(to=address("/site", tab=tab), submits=(("", "Save settings"),), fields=fields)
    return Page(title=f"Site: {tab}", parts=(_tabs("Site"), Nav(name="Site", looks="tabs", links=links), form))


def _site_saved(visit: Visit) -> str:
    sent = [(name, value) for name, value in visit.form if name in SITE]
    visit.call("settings", "change_site", names=[name for name, _ in sent], values=[value for _, value in sent])
    return address("/site", tab=visit.query.get("tab", ""))


def _backups(visit: Visit) -> Page:
    rows = [
        Row(
            cells=(
                each["name"], each["part"], f"{each['rhythm']} at {each['hour']}", each["place"],
                str(each["keep_days"]), "on" if each["on"] else "off",
            ),
            buttons=(_switch("/switch", each),),
        )
        for each in visit.everything("settings", "list_backups")
    ]  # fmt: skip
    table = Table(caption="Backups", columns=("Name", "What", "When", "Place", "Days kept", "State"), rows=rows)
    ways = Nav(name="Backups", links=(Link(text="Plan a backup", to="/plan/1"),))
    return Page(title="Backups", parts=(_tabs("Backups"), ways, table))


def _keys(visit: Visit) -> Page:
    rows = [
        Row(
            cells=(
                each["name"], each["scope"], each["expires"], str(each["version"]),
                f"{each['reason']} ({each['grace_days']} days)" if each["reason"] else "",
                "revoked" if each["revoked"] else "good",
                Link(text="Renew", to=address("/renew/1", name=each["name"]), name=f"Renew: {each['name']}"),
            ),
            buttons=(
                Button(text="Revoke", name=f"Revoke: {each['name']}", to=address("/revoke", name=each["name"]),
                       question=f"Revoke {each['name']} for good?"),
            ),
        )
        for each in visit.everything("settings", "list_keys")
    ]  # fmt: skip
    columns = ("Name", "May", "Expires", "Version", "Last renewal", "State", "")
    return Page(title="Keys", parts=(_tabs("Keys"), Table(caption="Keys", columns=columns, rows=rows)))


def _named(call: str, to: str) -> Callable[[Visit], str]:
    """Return a handler that executes a call on the record that the address names."""

    def do(visit: Visit) -> str:
        visit.perform("settings", call, name=visit.query.get("name", ""))
        return to

    return do


def _new_rule_made(visit: Visit) -> str:
    visit.perform("settings", "create_rule")
    return "/rules"


def _to_tab(tab: str) -> Iterator[Deed]:
    yield goto("http://settings/")
    if tab != "Users":
        yield click("link", tab)


def _how_invite(world: World, step: Step) -> Iterator[Deed]:
    yield from _to_tab("Users")
    yield click("link", "Invite a user")
    yield from INVITE.deeds({**step.arguments, "teams": ", ".join(texts(step.arguments.get("teams")))})


def _how_plan(world: World, step: Step) -> Iterator[Deed]:
    yield from _to_tab("Backups")
    yield click("link", "Plan a backup")
    yield from BACKUP.deeds(step.arguments)


def _how_renew(world: World, step: Step) -> Iterator[Deed]:
    yield from _to_tab("Keys")
    yield click("link", f"Renew: {step.arguments['name']}")
    yield from RENEW.deeds(step.arguments)


def _how_user(world: World, step: Step) -> Iterator[Deed]:
    who, given = str(step.arguments["address"]), step.arguments
    yield from _to_tab("Users")
    yield from search("Search users", who)
    items = everything(world, "settings", "list_users", query=who)
    name = yield from turn_to(items, lambda item: item["address"] == who, _user_name)
    yield click("link", name)
    if "role" in given:
        yield select("Role", str(given["role"]))
    if "teams" in given:
        yield fill("Teams", ", ".join(texts(given["teams"])))
    if "active" in given:
        yield check("active" if given["active"] else "inactive", "radio")
    yield click("button", "Save")


def _how_new_rule(world: World, step: Step) -> Iterator[Deed]:
    yield from _to_tab("Notifications")
    yield click("link", "New rule")
    yield fill("Name", str(step.arguments["name"]))
    yield from _how_rule_fields(step)
    yield click("button", "Create rule")


def _how_rule(world: World, step: Step) -> Iterator[Deed]:
    name, given = str(step.arguments["name"]), step.arguments
    yield from _to_tab("Notifications")
    if "on" in given:
        yield click("button", f"{'Switch on' if given['on'] else 'Switch off'}: {name}")
    if set(given) & {"event", "channel", "target"}:
        yield click("link", f"Rule {name}")
        yield from _how_rule_fields(step)
        yield click("button", "Save")


def _how_rule_fields(step: Step) -> Iterator[Deed]:
    given = step.arguments
    if "event" in given:
        yield select("When", str(given["event"]))
    if "channel" in given:
        yield check(str(given["channel"]), "radio")
    if "target" in given:
        yield fill("Whom", str(given["target"]))


def _how_no_rule(world: World, step: Step) -> Iterator[Deed]:
    yield from _to_tab("Notifications")
    yield click("button", f"Delete: {step.arguments['name']}")
    yield click("button", "Yes")


def _how_site(world: World, step: Step) -> Iterator[Deed]:
    wanted = dict(zip(texts(step.arguments["names"]), texts(step.arguments["values"]), strict=True))
    for tab in dict.fromkeys(SITE[name][0] for name in wanted):
        yield from _to_tab("Site")
        yield click("link", tab)
        for name, value in wanted.items():
            if SITE[name][0] == tab:
                yield select(name, value) if SITE[name][1] else fill(name, value)
        yield click("button", "Save settings")


def _how_switch(world: World, step: Step) -> Iterator[Deed]:
    yield from _to_tab("Backups")
    yield click("button", f"{'Switch on' if step.arguments['on'] else 'Switch off'}: {step.arguments['name']}")


def _how_revoke(world: World, step: Step) -> Iterator[Deed]:
    yield from _to_tab("Keys")
    yield click("button", f"Revoke: {step.arguments['name']}")
    yield click("button", "Yes")


def _how_look(world: World, step: Step) -> Iterator[Deed]:
    yield from _to_tab("Users")
    yield fill("Search users", str(step.arguments["query"]), "searchbox")
    yield select("Role", str(step.arguments["role"]))
    yield click("button", "Search")


APP = Site(
    name="settings",
    title="Settings",
    places=(
        Place(path="/", show=_users),
        Place(path="/user", show=_user, do=_user_saved, message="The user was saved."),
        Place(path="/rules", show=_rules),
        Place(path="/new-rule", show=_new_rule, do=_new_rule_made, message="The rule was created."),
        Place(path="/rule", show=_rule, do=_named("update_rule", "/rules"), message="The rule was changed."),
        Place(path="/no-rule", show=_rules, do=_named("delete_rule", "/rules"), message="The rule was deleted."),
        Place(path="/site", show=_site, do=_site_saved, message="The settings were saved."),
        Place(path="/backups", show=_backups),
        Place(
            path="/switch", show=_backups, do=_named("switch_backup", "/backups"), message="The backup was switched."
        ),
        Place(path="/keys", show=_keys),
        Place(path="/revoke", show=_keys, do=_named("revoke_key", "/keys"), message="The key was revoked."),
        *INVITE.places(),
        *BACKUP.places(),
        *RENEW.places(),
    ),
    how={
        "list_users": _how_look,
        "invite": _how_invite,
        "update_user": _how_user,
        "create_rule": _how_new_rule,
        "update_rule": _how_rule,
        "delete_rule": _how_no_rule,
        "change_site": _how_site,
        "plan_backup": _how_plan,
        "switch_backup": _how_switch,
        "renew_key": _how_renew,
        "revoke_key": _how_revoke,
    },
)
