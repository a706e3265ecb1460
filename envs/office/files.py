"""Files: texts in folders, identified by their paths; a file's folder must exist.

Not supported: binary files, moving folders with their contents, versions.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

from cairn.envs.office.app import App, find, require
from cairn.envs.office.calls import Address, FolderPath, Limit, Offset, Path, Words, call, page

MAX_FILES, MAX_CHARS = 500, 100_000
_LIST = "files.list_folder and files.search list files"


@dataclass(frozen=True, kw_only=True, slots=True)
class File:
    """A text at a path."""

    path: str
    text: str
    modified_at: str  # moment
    shared_with: tuple[str, ...] = ()  # addresses, sorted


@dataclass(frozen=True, kw_only=True, slots=True)
class Folder:
    """A folder of files and folders."""

    path: str


class Files(App):
    """Text files in folders, which can be shared with contacts."""

    name = "files"
    tables: ClassVar[tuple[str, ...]] = ("files", "folders")
    derived: ClassVar = {"files": frozenset({"modified_at"})}
    sets = frozenset({("files", "shared_with")})
    files: dict[str, File]
    folders: dict[str, Folder]

    @call
    def list_folder(self, *, folder: FolderPath, limit: Limit = 20, offset: Offset = 0) -> dict[str, object]:
        """List what lies directly in a folder, by path; folders are of the kind "folder" and have no size.

        Example: {"items": [{"path": "/Documents/plan.txt", "kind": "file", "size": 120,
        "modified_at": "2031-05-02T10:00", "shared_with": ["sam@home.example"]}], "total": 1, "next_offset": null}
        """
        self._require_folder(folder)
        folders = [_folder_json(path) for path in self.folders if parent(path) == folder]
        files = [_file_json(file) for file in self.files.values() if parent(file.path) == folder]
        by_path = {str(entry["path"]): entry for entry in (*folders, *files)}
        return page((by_path[path] for path in sorted(by_path)), limit, offset)

    @call
    def search(
        self, *, query: Words, folder: FolderPath = "/", limit: Limit = 20, offset: Offset = 0
    ) -> dict[str, object]:
        """Find files in a folder and the folders in it, by path: every word of the query occurs in name or text.

        Case is ignored.

        Example: {"items": [{"path": "/Documents/plan.txt", "kind": "file", "size": 120,
        "modified_at": "2031-05-02T10:00", "shared_with": []}], "total": 1, "next_offset": null}
        """
        self._require_folder(folder)
        words, prefix = query.casefold().split(), folder.rstrip("/") + "/"
        found = [file for path, file in self.files.items() if path.startswith(prefix) and _has(file, words)]
        return page(map(_file_json, sorted(found, key=lambda file: file.path)), limit, offset)

    @call
    def read(self, *, path: Path) -> dict[str, object]:
        """Return the text of a file.

        Example: {"path": "/Documents/plan.txt", "text": "Monday: paint the fence\\n"}
        """
        return {"path": path, "text": self.find(path).text}

    @call
    def write(self, *, path: Path, text: str, overwrite: bool = False) -> dict[str, object]:
        """Make a file; one that exists is replaced only with `overwrite`, and stays shared as it was.

        Example: {"path": "/Documents/plan.txt", "size": 24}
        """
        old = self.files.get(path)
        require(old is None or overwrite, f"the file {path!r} exists; pass overwrite=True to replace it")
        return self._put(File(path=path, text=text, modified_at="", shared_with=old.shared_with if old else ()))

    @call
    def append(self, *, path: Path, text: str) -> dict[str, object]:
        """Add text at the end of a file, exactly as given: begin a new line yourself.

        Example: {"path": "/Documents/plan.txt", "size": 48}
        """
        old = self.find(path)
        require(len(old.text) + len(text) <= MAX_CHARS, f"a file holds at most {MAX_CHARS} characters")
        return self._put(replace(old, text=old.text + text))

    @call
    def move(self, *, path: Path, to: Path) -> dict[str, object]:
        """Move a file to another path, which must be free; `to` is the new path with the file's name.

        Example: {"path": "/Archive/plan.txt", "size": 24}
        """
        old = self.find(path)
        self._require_free(to)
        made = self._put(replace(old, path=to))
        del self.files[path]
        return made

    @call
    def copy(self, *, path: Path, to: Path) -> dict[str, object]:
        """Copy a file to another path, which must be free. The copy is shared with nobody.

        Example: {"path": "/Archive/plan.txt", "size": 24}
        """
        old = self.find(path)
        self._require_free(to)
        return self._put(replace(old, path=to, shared_with=()))

    @call
    def delete(self, *, path: Path) -> dict[str, object]:
        """Delete a file, or an empty folder, for good.

        Example: {"path": "/Documents/plan.txt", "deleted": true}
        """
        if path in self.folders:
            is_empty = not any(parent(each) == path for each in (*self.files, *self.folders))
            require(is_empty, f"the folder {path!r} is not empty")
            del self.folders[path]
        else:
            self.find(path)
            del self.files[path]
        return {"path": path, "deleted": True}

    @call
    def make_folder(self, *, path: Path) -> dict[str, object]:
        """Make a folder in one that exists.

        Example: {"path": "/Documents/2031", "kind": "folder"}
        """
        self._require_free(path)
        self._require_folder(parent(path))
        require(len(self.folders) < MAX_FILES, f"there can be at most {MAX_FILES} folders")
        self.folders[path] = Folder(path=path)
        return {"path": path, "kind": "folder"}

    @call
    def share(self, *, path: Path, address: Address) -> dict[str, object]:
        """Share a file with somebody in your contacts.

        Example: {"path": "/Documents/plan.txt", "shared_with": ["sam@home.example"]}
        """
        file = self.find(path)
        is_known = any(address in contact.emails for contact in self.world.contacts.contacts.values())
        require(is_known, f"address must be one of a contact; none has {address!r}")
        return self._share(file, {*file.shared_with, address})

    @call
    def unshare(self, *, path: Path, address: Address) -> dict[str, object]:
        """Stop sharing a file with somebody.

        Example: {"path": "/Documents/plan.txt", "shared_with": []}
        """
        file = self.find(path)
        require(address in file.shared_with, f"the file {path!r} is not shared with {address!r}")
        return self._share(file, {*file.shared_with} - {address})

    def find(self, path: str) -> File:
        """Return a file, or raise `OfficeError`."""
        require(path not in self.folders, f"{path!r} is a folder; a file was expected")
        return find(self.files, path, "file", _LIST)

    def _require_folder(self, path: str) -> None:
        if path != "/":
            find(self.folders, path, "folder", "files.make_folder makes one, files.list_folder lists them")

    def _require_free(self, path: str) -> None:
        require(path not in self.files and path not in self.folders, f"there is something at {path!r} already")

    def _put(self, file: File) -> dict[str, object]:
        self._require_folder(parent(file.path))
        require(file.path not in self.folders, f"{file.path!r} is a folder; a file was expected")
        require(len(self.files) < MAX_FILES, f"there can be at most {MAX_FILES} files")
        self.files[file.path] = replace(file, modified_at=self.world.now)
        return {"path": file.path, "size": len(file.text)}

    def _share(self, file: File, addresses: set[str]) -> dict[str, object]:
        self.files[file.path] = replace(file, shared_with=tuple(sorted(addresses)))
        return {"path": file.path, "shared_with": sorted(addresses)}


def parent(path: str) -> str:
    """Return the folder of a path."""
    return path.rpartition("/")[0] or "/"


def _has(file: File, words: list[str]) -> bool:
    text = f"{file.path.rpartition('/')[2]}\n{file.text}".casefold()
    return all(word in text for word in words)


def _file_json(file: File) -> dict[str, object]:
    return {
        "path": file.path,
        "kind": "file",
        "size": len(file.text),
        "modified_at": file.modified_at,
        "shared_with": list(file.shared_with),
    }


def _folder_json(path: str) -> dict[str, object]:
    return {"path": path, "kind": "folder", "size": None, "modified_at": None, "shared_with": []}
