"""Files application: folders, search, text editor, forms to move, copy, share and delete."""

from __future__ import annotations

from collections.abc import Iterator

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
    Part,
    Prose,
    Row,
    Table,
    address,
    pager,
)
from cairn.envs.gui.site import Place, Site, Visit
from cairn.envs.gui.ui_actions import Deed, click, fill, fill_in, goto, search
from cairn.envs.office.files import parent
from cairn.envs.office.task import Step
from cairn.envs.office.world import World


def name_of(item: Json) -> str:
    """Return the accessible name of a folder's or file's row in its folder."""
    return f"{'Folder' if item['kind'] == 'folder' else 'File'} {item['path'].rpartition('/')[2]}"


def _path_of(item: Json) -> str:
    return f"File {item['path']}"


def _folder(visit: Visit) -> Page:
    folder = visit.value("folder", "/")
    found = visit.listed("files", "list_folder", folder=folder)
    ways = [Link(text="New file", to=address("/new", folder=folder)),
            Link(text="New folder", to=address("/new-folder", folder=folder))]  # fmt: skip
    if folder != "/":
        ways.append(Link(text="Up", to=address("/", folder=parent(folder))))
    rows = [
        Row(
            cells=(
                Link(text=item["path"].rpartition("/")[2], to=_to(item), name=name_of(item)),
                item["kind"],
                "" if item["size"] is None else str(item["size"]),
                (item["modified_at"] or "").replace("T", " "),
                ", ".join(item["shared_with"]),
            )
        )
        for item in found["items"]
    ]
    table = Table(caption=f"In {folder}", columns=("Name", "Kind", "Size", "Changed", "Shared with"), rows=rows)
    parts: list[Part] = [Nav(name="Folder", links=ways), _look(folder, ""), table,
             pager("/", found["total"], visit.page(), folder=folder)]  # fmt: skip
    if folder != "/" and not found["total"]:
        question = f"Delete the folder {folder}?"
        parts.append(
            Bar(buttons=(Button(text="Delete folder", to=address("/delete", path=folder), question=question),))
        )
    return Page(title=f"Files: {folder}", parts=parts)


def _to(item: Json) -> str:
    return address("/", folder=item["path"]) if item["kind"] == "folder" else address("/file", path=item["path"])


def _look(folder: str, words: str) -> Form:
    return Form(
        to="/search", is_get=True, submits=(("", "Search"),), hidden={"folder": folder},
        fields=(Field(label="Search files", name="q", kind="search", value=words),),
    )  # fmt: skip


def _search(visit: Visit) -> Page:
    folder, words = visit.value("folder", "/"), visit.value("q")
    found = visit.listed("files", "search", query=words, folder=folder)
    rows = [
        Row(
            cells=(
                Link(text=item["path"], to=_to(item), name=_path_of(item)),
                str(item["size"]),
                item["modified_at"].replace("T", " "),
            )
        )
        for item in found["items"]
    ]
    table = Table(caption=f"Found below {folder}", columns=("Path", "Size", "Changed"), rows=rows)
    pages = pager("/search", found["total"], visit.page(), folder=folder, q=words)
    return Page(title="Search files", parts=(_look(folder, words), table, pages))


def _file(visit: Visit) -> Page:
    path = visit.value("path")
    text = visit.call("files", "read", path=path)["text"]
    item = next(each for each in visit.everything("files", "list_folder", folder=parent(path)) if each["path"] == path)
    ways = (("Edit", "/edit"), ("Move or rename", "/move"), ("Copy", "/copy"), ("Share", "/share"))
    links = [Link(text=text, to=address(to, path=path)) for text, to in ways]
    links.append(Link(text="Show the folder", to=address("/", folder=parent(path))))
    stops = [
        Button(text=f"Stop sharing with {each}", to=address("/unshare", path=path), values={"address": each})
        for each in item["shared_with"]
    ]
    delete = Button(text="Delete file", to=address("/delete", path=path), question=f"Delete {path} for good?")
    facts = FactList(
        pairs=(
            ("Path", path),
            ("Size", f"{item['size']} characters"),
            ("Changed", item["modified_at"].replace("T", " ")),
            ("Shared with", ", ".join(item["shared_with"])),
        )
    )
    parts = (
        Nav(name="This file", links=links),
        Menu(name="More actions", buttons=(*stops, delete)),
        facts,
        Prose(text=text),
    )
    return Page(title=path.rpartition("/")[2], parts=parts)


def _new(visit: Visit) -> Page:
    folder = visit.value("folder", "/")
    fields = (
        Field(label="Path", name="path", value=visit.value("path", folder.rstrip("/") + "/")),
        Field(label="Content", name="text", kind="area", value=visit.value("text")),
    )
    form = Form(to=address("/new", folder=folder), submits=(("", "Create file"),), fields=fields)
    return Page(title="New file", parts=(form,))


def _edit(visit: Visit) -> Page:
    path = visit.query.get("path", "")
    text = visit.call("files", "read", path=path)["text"]
    form = Form(
        to=address("/edit", path=path), submits=(("", "Save file"),),
        fields=(Field(label="Content", name="text", kind="area", value=visit.value("text", text)),),
    )  # fmt: skip
    return Page(title=f"Edit: {path}", parts=(form,))


def _new_folder(visit: Visit) -> Page:
    folder = visit.value("folder", "/")
    fields = (Field(label="Path", name="path", value=visit.value("path", folder.rstrip("/") + "/")),)
    form = Form(to=address("/new-folder", folder=folder), submits=(("", "Create folder"),), fields=fields)
    return Page(title="New folder", parts=(form,))


def _elsewhere(title: str, to: str, button: str, label: str, hint: str = "") -> Place:
    """Return the page of a form with one field, for the target path or the person."""
    name = "address" if to == "/share" else "to"
    call = to.removeprefix("/")

    def show(visit: Visit) -> Page:
        path = visit.query.get("path", "")
        value = visit.value(name, "" if name == "address" else path)
        form = Form(
            to=address(to, path=path), submits=(("", button),),
            fields=(Field(label=label, name=name, value=value, hint=hint),),
        )  # fmt: skip
        return Page(title=f"{title}: {path}", parts=(form,))

    def do(visit: Visit) -> str:
        visit.perform("files", call, path=visit.query.get("path", ""))
        return address("/file", path=visit.query["path"] if name == "address" else visit.value("to"))

    return Place(path=to, show=show, do=do, message=f"{title}: done.")


def _created(visit: Visit) -> str:
    visit.perform("files", "write")
    return address("/file", path=visit.value("path"))


def _saved(visit: Visit) -> str:
    path = visit.query.get("path", "")
    visit.call("files", "read", path=path)  # fails for a deleted file, which writing would create again
    visit.perform("files", "write", path=path, overwrite=True)
    return address("/file", path=path)


def _made_folder(visit: Visit) -> str:
    visit.perform("files", "make_folder")
    return address("/", folder=visit.value("path"))


def _deleted(visit: Visit) -> str:
    path = visit.query.get("path", "")
    visit.perform("files", "delete", path=path)
    return address("/", folder=parent(path))


def _unshared(visit: Visit) -> str:
    path = visit.query.get("path", "")
    visit.perform("files", "unshare", path=path)
    return address("/file", path=path)


def _to_folder(world: World, folder: str) -> Iterator[Deed]:
    """Navigate from the root folder down to a folder."""
    yield goto("http://files/")
    parts = folder.strip("/").split("/") if folder != "/" else []
    for at in range(len(parts)):
        here, to = "/" + "/".join(parts[:at]), "/" + "/".join(parts[: at + 1])
        items = everything(world, "files", "list_folder", folder=here)
        name = yield from turn_to(items, lambda item, to=to: bool(item["path"] == to), name_of)  # type: ignore[misc]
        yield click("link", name)


def _to_file(world: World, path: object) -> Iterator[Deed]:
    yield from _to_folder(world, parent(str(path)))
    items = everything(world, "files", "list_folder", folder=parent(str(path)))
    name = yield from turn_to(items, lambda item: item["path"] == path, name_of)
    yield click("link", name)


def _how_write(world: World, step: Step) -> Iterator[Deed]:
    path, text = str(step.arguments["path"]), str(step.arguments["text"])
    old = world.files.files.get(path)
    if old is None:
        yield from _to_folder(world, parent(path))
        yield click("link", "New file")
        yield from fill_in({"Path": path, "Content": text})
        yield click("button", "Create file")
        return
    yield from _to_file(world, path)
    yield click("link", "Edit")
    yield fill("Content", old.text + text if step.name == "append" else text)
    yield click("button", "Save file")


def _how_move(world: World, step: Step) -> Iterator[Deed]:
    yield from _to_file(world, step.arguments["path"])
    yield click("link", "Move or rename" if step.name == "move" else "Copy")
    yield fill("New path", str(step.arguments["to"]))
    yield click("button", "Move file" if step.name == "move" else "Copy file")


def _how_share(world: World, step: Step) -> Iterator[Deed]:
    yield from _to_file(world, step.arguments["path"])
    yield click("link", "Share")
    yield fill("Address", str(step.arguments["address"]))
    yield click("button", "Share file")


def _how_unshare(world: World, step: Step) -> Iterator[Deed]:
    yield from _to_file(world, step.arguments["path"])
    yield click("button", "More actions")
    yield click("button", f"Stop sharing with {step.arguments['address']}")


def _how_delete(world: World, step: Step) -> Iterator[Deed]:
    path = str(step.arguments["path"])
    if path in world.files.folders:
        yield from _to_folder(world, path)
        yield click("button", "Delete folder")
    else:
        yield from _to_file(world, path)
        yield click("button", "More actions")
        yield click("button", "Delete file")
    yield click("button", "Yes")


def _how_read(world: World, step: Step) -> Iterator[Deed]:
    path = str(step.arguments["path"])
    name = path.rpartition("/")[2]
    yield goto("http://files/")
    yield from search("Search files", name)
    items = everything(world, "files", "search", query=name)
    row = yield from turn_to(items, lambda item: item["path"] == path, _path_of)
    yield click("link", row)


def _how_make_folder(world: World, step: Step) -> Iterator[Deed]:
    path = str(step.arguments["path"])
    yield from _to_folder(world, parent(path))
    yield click("link", "New folder")
    yield fill("Path", path)
    yield click("button", "Create folder")


APP = Site(
    name="files",
    title="Files",
    places=(
        Place(path="/", show=_folder),
        Place(path="/search", show=_search),
        Place(path="/file", show=_file),
        Place(path="/new", show=_new, do=_created, message="The file was created."),
        Place(path="/edit", show=_edit, do=_saved, message="The file was saved."),
        Place(path="/new-folder", show=_new_folder, do=_made_folder, message="The folder was created."),
        Place(path="/delete", show=_folder, do=_deleted, message="Deleted."),
        Place(path="/unshare", show=_file, do=_unshared, message="The file is no longer shared."),
        _elsewhere("Move or rename", "/move", "Move file", "New path", "the path with the file's name"),
        _elsewhere("Copy", "/copy", "Copy file", "New path", "the path with the file's name"),
        _elsewhere("Share", "/share", "Share file", "Address", "of one of your contacts"),
    ),
    how={
        "read": _how_read,
        "write": _how_write,
        "append": _how_write,
        "move": _how_move,
        "copy": _how_move,
        "share": _how_share,
        "unshare": _how_unshare,
        "delete": _how_delete,
        "make_folder": _how_make_folder,
    },
)
