"""The wizards of the settings: invite a user, plan a backup, renew a key."""

from __future__ import annotations

from cairn.envs.gui.parts import Field, choices
from cairn.envs.gui.wizard import Wizard
from cairn.envs.office.settings import PARTS, PLACES, REASONS, RHYTHMS, ROLES

INVITE = Wizard(
    path="/invite",
    title="Invite a user",
    app="settings",
    call="invite",
    steps=(
        ("who", (Field(label="Name", name="name"), Field(label="Address", name="address"))),
        ("role", (Field(label="Role", name="role", kind="radio", value="viewer", options=choices(ROLES)),)),
        ("teams", (Field(label="Teams", name="teams", hint="names, with commas between them"),)),
    ),
    confirm="Send invitation",
    then="/",
    message="The user was invited.",
)
BACKUP = Wizard(
    path="/plan",
    title="Plan a backup",
    app="settings",
    call="plan_backup",
    steps=(
        (
            "what",
            (
                Field(label="Name", name="name"),
                Field(label="What", name="part", kind="select", value="everything", options=choices(PARTS)),
            ),
        ),
        (
            "when",
            (
                Field(label="How often", name="rhythm", kind="radio", value="daily", options=choices(RHYTHMS)),
                Field(label="Begins at", name="hour", value="02:00", hint="a full hour, like 02:00"),
            ),
        ),
        (
            "where",
            (
                Field(label="Place", name="place", kind="select", value=PLACES[0], options=choices(PLACES)),
                Field(label="Days to keep", name="keep_days", value="30"),
            ),
        ),
    ),
    confirm="Plan backup",
    then="/backups",
    message="The backup was planned.",
)
RENEW = Wizard(
    path="/renew",
    title="Renew a key",
    app="settings",
    call="renew_key",
    steps=(
        ("which", (Field(label="Key", name="name"),)),
        ("why", (Field(label="Reason", name="reason", kind="radio", value=REASONS[0], options=choices(REASONS)),)),
        (
            "until when",
            (
                Field(label="Expires", name="expires", hint="like 2031-05-04"),
                Field(label="Days that the old version stays good", name="grace_days", value="7"),
            ),
        ),
    ),
    confirm="Renew key",
    then="/keys",
    message="The key was renewed.",
)
