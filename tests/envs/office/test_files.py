"""Files: each call's result and refusals, in a tiny office."""

from __future__ import annotations

from typing import Any

import pytest

from cairn.envs.office.files import MAX_FILES
from cairn.envs.office.world import World
from tests.envs.office.refusals import refused
from tests.envs.office.tiny import SAM, ZOE, tiny

PLAN = {
    "path": "/Docs/plan.txt", "kind": "file", "size": 16, "modified_at": "2031-05-01T10:00", "shared_with": [],
}  # fmt: skip


def call(world: World, name: str, /, **arguments: object) -> Any:
    return world.call("files", name, arguments)


def test_a_folder_lists_its_direct_content() -> None:
    world = tiny()
    old: dict[str, Any] = {"path": "/Docs/Old", "kind": "folder", "size": None, "modified_at": None, "shared_with": []}
    assert call(world, "list_folder", folder="/Docs") == {"items": [old, PLAN], "total": 2, "next_offset": None}
    paths = [item["path"] for item in call(world, "list_folder", folder="/")["items"]]
    assert paths == ["/Docs", "/Empty", "/top.txt"]
    refused(world, "files", "list_folder", "no folder '/Doc'; did you mean '/Docs'?", folder="/Doc")


@pytest.mark.parametrize(
    ("query", "folder", "expected"),
    [
        ("PLAN", "/", ["/Docs/Old/plan.txt", "/Docs/plan.txt"]),
        ("paint fence", "/", ["/Docs/plan.txt"]),
        ("plan", "/Docs/Old", ["/Docs/Old/plan.txt"]),
        ("", "/Empty", []),
        ("docs", "/", []),  # names and texts, not folders
    ],
)
def test_search_goes_into_folders(query: str, folder: str, expected: list[str]) -> None:
    assert [item["path"] for item in call(tiny(), "search", query=query, folder=folder)["items"]] == expected


def test_reading_and_writing() -> None:
    world = tiny()
    assert call(world, "read", path="/Docs/plan.txt") == {"path": "/Docs/plan.txt", "text": "Paint the fence\n"}
    assert call(world, "write", path="/Docs/new.txt", text="abc") == {"path": "/Docs/new.txt", "size": 3}
    assert call(world, "append", path="/Docs/new.txt", text="de") == {"path": "/Docs/new.txt", "size": 5}
    assert world.files.files["/Docs/new.txt"].text == "abcde"
    assert world.files.files["/Docs/new.txt"].modified_at == world.now
    refused(world, "files", "write", "exists; pass overwrite=True", path="/Docs/new.txt", text="x")
    call(world, "share", path="/Docs/new.txt", address=SAM)
    call(world, "write", path="/Docs/new.txt", text="x", overwrite=True)
    assert (world.files.files["/Docs/new.txt"].text, world.files.files["/Docs/new.txt"].shared_with) == ("x", (SAM,))
    refused(world, "files", "read", "is a folder", path="/Docs")
    refused(world, "files", "read", "no file '/none.txt'", path="/none.txt")
    refused(world, "files", "write", "no folder '/None'", path="/None/a.txt", text="")
    refused(world, "files", "write", "is a folder", path="/Docs", text="")
    refused(world, "files", "append", "no file", path="/none.txt", text="")


@pytest.mark.parametrize(
    "path", ["plan.txt", "/Docs/", "//a", "/a/../b", "/a/./b", "", "/", "/a\nb", "/" + "a/" * 11 + "a"]
)
def test_a_path_must_be_whole_and_plain(path: str) -> None:
    refused(tiny(), "files", "write", "a path like '/Documents/plan.txt'", path=path, text="")


def test_moving_and_copying_need_a_free_place() -> None:
    world = tiny()
    call(world, "share", path="/Docs/plan.txt", address=SAM)
    assert call(world, "copy", path="/Docs/plan.txt", to="/Empty/plan.txt") == {"path": "/Empty/plan.txt", "size": 16}
    assert call(world, "move", path="/Docs/plan.txt", to="/Empty/b.txt") == {"path": "/Empty/b.txt", "size": 16}
    assert "/Docs/plan.txt" not in world.files.files
    assert world.files.files["/Empty/b.txt"].shared_with == (SAM,)
    assert world.files.files["/Empty/plan.txt"].shared_with == ()
    for name in ("move", "copy"):
        refused(world, "files", name, "something at '/top.txt'", path="/Empty/b.txt", to="/top.txt")
        refused(world, "files", name, "something at '/Empty/b.txt'", path="/Empty/b.txt", to="/Empty/b.txt")
        refused(world, "files", name, "no folder '/None'", path="/Empty/b.txt", to="/None/b.txt")
        refused(world, "files", name, "is a folder", path="/Docs", to="/Dox")


def test_deleting_takes_files_and_empty_folders() -> None:
    world = tiny()
    refused(world, "files", "delete", "not empty", path="/Docs/Old")
    assert call(world, "delete", path="/Docs/Old/plan.txt") == {"path": "/Docs/Old/plan.txt", "deleted": True}
    call(world, "delete", path="/Docs/Old")
    assert "/Docs/Old" not in world.files.folders
    refused(world, "files", "delete", "no file", path="/Docs/Old")


def test_making_folders() -> None:
    world = tiny()
    assert call(world, "make_folder", path="/Docs/New") == {"path": "/Docs/New", "kind": "folder"}
    refused(world, "files", "make_folder", "something at", path="/Docs/New")
    refused(world, "files", "make_folder", "no folder '/None'", path="/None/New")


def test_sharing_is_with_contacts_only() -> None:
    world = tiny()
    call(world, "share", path="/top.txt", address=ZOE)
    assert call(world, "share", path="/top.txt", address=SAM)["shared_with"] == [SAM, ZOE]
    assert call(world, "unshare", path="/top.txt", address=ZOE)["shared_with"] == [SAM]
    refused(world, "files", "unshare", "is not shared with", path="/top.txt", address=ZOE)
    refused(world, "files", "share", "must be one of a contact", path="/top.txt", address="bo@home.example")


def test_there_is_an_end_to_files_and_their_length() -> None:
    world = tiny()
    for _ in range(6):
        call(world, "append", path="/top.txt", text="x" * 16_000)
    refused(world, "files", "append", "at most 100000 characters", path="/top.txt", text="x" * 16_000)
    for number in range(MAX_FILES - len(world.files.files)):
        call(world, "write", path=f"/Empty/{number}", text="")
    refused(world, "files", "write", f"at most {MAX_FILES} files", path="/Empty/more", text="")
