"""Worlds with every application: the office's part stays as it is, the rest is sound, and hostile texts are there."""

from __future__ import annotations

import json

import pytest

from cairn.envs.office.furniture import HOSTILE
from cairn.envs.office.generator import populate
from cairn.envs.office.world import DESK, OFFICE, World
from tests.envs.office.refusals import refused

SEEDS = range(30)


@pytest.fixture(scope="module")
def worlds() -> list[World]:
    return [populate(seed, DESK) for seed in SEEDS]


def test_the_offices_records_are_the_same_with_and_without_the_rest(worlds: list[World]) -> None:
    for seed, world in zip(SEEDS, worlds, strict=True):
        for name, table in populate(seed).tables.items():
            assert {key: world.tables[name][key] for key in table} == table


def test_a_world_offers_only_its_own_applications(worlds: list[World]) -> None:
    world = populate(0)
    assert tuple(type(app) for app in world.apps.values()) == OFFICE
    assert tuple(type(app) for app in worlds[0].apps.values()) == DESK
    assert tuple(worlds[0].copy().apps) == tuple(worlds[0].apps)
    refused(world, "issues", "search", "there is no application 'issues'")
    assert "issues" not in json.loads(world.state())["tables"]


@pytest.mark.parametrize(
    ("table", "least", "most"),
    [("projects", 4, 4), ("milestones", 12, 12), ("issues", 45, 70), ("sheets", 4, 4), ("rows", 57, 129),
     ("users", 15, 15), ("rules", 5, 5), ("site", 12, 12), ("backups", 3, 3), ("keys", 5, 5)],
)  # fmt: skip
def test_worlds_have_the_sizes_that_they_promise(table: str, least: int, most: int, worlds: list[World]) -> None:
    sizes = [len(world.tables[table]) for world in worlds]
    assert least <= min(sizes)
    assert max(sizes) <= most


def test_issues_fit_their_projects_and_cells_their_columns(worlds: list[World]) -> None:
    """Every record could have been made by a call: putting it in again as it is is not refused."""
    for world in worlds[:10]:
        state = world.state()
        for issue in world.issues.issues.values():
            world.call("issues", "update", {"issue_id": issue.id, "status": issue.status})
        for row in world.sheets.rows.values():
            world.call("sheets", "update_row", {"row_id": row.id, "cells": [text for _, text in row.cells]})
        for name in world.settings.site:
            world.call("settings", "change_site", {"names": [name], "values": [world.settings.site[name].value]})
        for rule in world.settings.rules.values():
            world.call("settings", "update_rule", {"name": rule.name, "on": rule.is_on})
        assert world.state() == state


def test_titles_of_issues_are_unique(worlds: list[World]) -> None:
    for world in worlds:
        titles = [issue.title for issue in world.issues.issues.values()]
        assert len(set(titles)) == len(titles)


def test_mails_events_files_sheets_and_comments_contain_hostile_texts(worlds: list[World]) -> None:
    for world in worlds:
        assert {mail.subject for mail in world.mail.mails.values()} >= set(HOSTILE)
        assert any(event.title in HOSTILE for event in world.calendar.events.values())
        assert any(HOSTILE[0] in file.text for file in world.files.files.values())
        assert any(dict(row.cells).get("Company") == HOSTILE[0] for row in world.sheets.rows.values())
        assert sum(comment.text in HOSTILE for comment in world.issues.comments.values()) == 2
