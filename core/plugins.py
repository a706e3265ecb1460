"""Plug-in discovery: ids are file names, and loading a plug-in imports only its module.

Each extension point is a folder. A module in it exports one constant (``CREDIT``, ``LOSS``, ...), a `Plugin`: a
configuration class, and a function that makes the object from its configuration. Environments are the exception:
``ENV`` is the class itself, because Gymnasium registers classes. Packages outside the repository register by an entry
point in the point's group (``cairn.envs``, ``cairn.credits``, ...), or are named by a dotted path,
``package.module:Name``. No central table exists; importing a point does not import its plug-ins.
"""

from __future__ import annotations

import importlib
import re
import sys
import traceback
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache, partial
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from cairn.core.errors import CairnError, UnknownNameError

if TYPE_CHECKING:
    from importlib import metadata

    from cairn.core.config import Config

DOTTED = re.compile(r"[A-Za-z_][\w.]*:[A-Za-z_]\w*")

C = TypeVar("C", bound="Config")
X = TypeVar("X")
Y = TypeVar("Y")


def _nothing() -> None:
    return None


@dataclass(frozen=True)
class Plugin(Generic[C]):
    """What a module of an extension point exports; points with declarations of their own subclass it."""

    config: type[C]
    make: Callable[..., Any]  # (config, *arguments of the point) -> the object  # Any: each point documents its type
    check_installed: Callable[[], None] = _nothing  # raises MissingExtraError if one of its packages is missing


def from_function(function: Callable[[X, C], Y]) -> Callable[[C], Callable[[X], Y]]:
    """Return the `make` of a plug-in that is a function of one input and a second argument named `config`."""
    return lambda config: partial(function, config=config)  # type: ignore[call-arg]  # the name is documented, not typed


@dataclass(frozen=True)
class ExtensionPoint:
    """One kind of plug-in, and where its modules are found."""

    name: str  # singular, as in `cairn plugins --point NAME`
    package: str  # the package of its modules
    constant: str  # the name that each module exports
    group: str  # entry point group of other packages
    # "": a plug-in is a module of the package. "env": a plug-in is a sub-package with a module of this name; each
    # module of its sub-package `variants` is a plug-in too, with the id "package/variant".
    leaf: str = ""

    def ids(self) -> list[str]:
        """Return the ids of all plug-ins, sorted; imports none of them."""
        return sorted({*self.files(), *self._entry_points()})

    def places(self) -> dict[str, str]:
        """Map every id, sorted, to its module or an entry point's ``package.module:Name``.

        Imports no plug-in.
        """
        entries = {entry.name: entry.value for entry in _entry_points(self.group)}
        return dict(sorted({**entries, **self.files()}.items()))

    def build(self, name: str, settings: Mapping[str, Any], *arguments: Any) -> Any:  # Any: see `Plugin.make`
        """Return the object that a plug-in makes from `settings` and the point's further `arguments`.

        Raises:
            UnknownNameError: no plug-in is registered under `name`.
            ConfigError: a setting is unknown or invalid.
        """
        return self.load(name).make(self.config(name, settings), *arguments)

    def config(self, name: str, settings: Mapping[str, Any], where: str = "") -> Any:  # Any: the plug-in's own Config
        """Return a plug-in's configuration with these settings; `where` is the table's name in messages.

        Raises:
            UnknownNameError: no plug-in is registered under `name`.
            ConfigError: a setting is unknown or invalid.
        """
        from cairn.core.config import build  # not at module level: pydantic would slow every command

        return build(self.load(name).config, settings, where or f"{self.name} {name!r}")

    def load(self, name: str) -> Any:  # Any: each point documents the type of its constant
        """Import one plug-in and return its constant.

        Raises:
            UnknownNameError: no plug-in is registered under `name`.
            CairnError: the module does not export the constant, its type is wrong, or `name` is not text.
        """
        if not isinstance(name, str):
            raise CairnError(f"Expected the id of a {self.name} as text, got {name!r:.100}")
        found = self._constant(name)
        if not self.leaf and not isinstance(found, Plugin):  # an environment is a class: see `envs.registry.load`
            raise CairnError(
                f"The {self.name} {name!r} must be a cairn.plugins.Plugin(config, make), got {found!r:.100}"
            )
        return found

    def _constant(self, name: str) -> Any:  # Any: not checked yet
        if DOTTED.fullmatch(name):
            return load_dotted(name)
        if (path := _module_of(self, name)) is not None:
            module = importlib.import_module(path)
            if not hasattr(module, self.constant):
                raise CairnError(f"{path} must export {self.constant}; it does not")
            return getattr(module, self.constant)
        if name in (entries := self._entry_points()):
            return entries[name]()
        raise UnknownNameError(self.name, name, self.ids(), f"cairn plugins --point {self.name}")

    def files(self) -> dict[str, str]:
        """Map the id of each plug-in in the point's package to its module name."""
        found: dict[str, str] = {}
        for folder in package_folders(self.package):
            for file in sorted(folder.glob(f"*/{self.leaf}.py" if self.leaf else "*.py")):
                parts = file.relative_to(folder).with_suffix("").parts
                if not parts[0].startswith("_") and parts[0] != "base":  # base.py: the contract that plug-ins fulfil
                    found[parts[0].replace("_", "-") if self.leaf else parts[0]] = ".".join((self.package, *parts))
            for file in sorted(folder.glob("*/variants/*.py")) if self.leaf else ():
                if not file.stem.startswith("_"):
                    of = file.parents[1].name
                    found[f"{of}/{file.stem}".replace("_", "-")] = f"{self.package}.{of}.variants.{file.stem}"
        return found

    def _entry_points(self) -> dict[str, Callable[[], Any]]:
        return {entry.name: entry.load for entry in _entry_points(self.group)}


def package_folders(package: str) -> list[Path]:
    """Return the folders of a package, without importing it or parents that are not loaded."""
    if (loaded := sys.modules.get(package)) is not None:
        return [Path(folder) for folder in loaded.__path__]
    parent, _, name = package.rpartition(".")
    if parent:
        return [path for folder in package_folders(parent) if (path := folder / name).is_dir()]
    spec = find_spec(package)
    return [] if spec is None else [Path(folder) for folder in spec.submodule_search_locations or ()]


def _module_of(point: ExtensionPoint, name: str) -> str | None:
    """Return the module of a plug-in that is a file, or None if no file has this id."""
    try:
        return _found(point, name)
    except KeyError:
        return None


@cache  # only successful lookups are cached: a KeyError is not, so a missing file is searched for again
def _found(point: ExtensionPoint, name: str) -> str:
    return point.files()[name]


@cache
def _entry_points(group: str) -> tuple[metadata.EntryPoint, ...]:
    from importlib import metadata  # not at module level: it imports an e-mail parser, which slows every command

    return tuple(metadata.entry_points(group=group))


def load_dotted(path: str) -> Any:  # Any: the caller checks the type
    """Import ``package.module:Name``.

    Raises:
        CairnError: the module cannot be imported or has no such name.
    """
    module_name, _, attribute = path.partition(":")
    try:
        module = importlib.import_module(module_name)
    except ImportError as error:
        raise CairnError(f"Cannot import {module_name!r} (from {path!r}): {error}") from error
    except (Exception, SystemExit) as error:  # a third-party module may raise anything during import
        reason = f"{type(error).__name__}: {error}{_place(error)}"
        raise CairnError(f"Cannot import {module_name!r} (from {path!r}): {reason}") from error
    if not hasattr(module, attribute):
        raise CairnError(f"Module {module_name!r} has no {attribute!r}; expected PACKAGE.MODULE:NAME, got {path!r}")
    return getattr(module, attribute)


def _place(error: BaseException) -> str:
    """Return where an error was raised, as in " (mine.py, line 3)".

    "" for syntax errors, whose text has the place.
    """
    frames = traceback.extract_tb(error.__traceback__)
    if not frames or isinstance(error, SyntaxError):
        return ""
    return f" ({Path(frames[-1].filename).name}, line {frames[-1].lineno})"


ENVS = ExtensionPoint(name="env", package="cairn.envs", constant="ENV", group="cairn.envs", leaf="env")
PERTURBATIONS = ExtensionPoint(
    name="perturbation", package="cairn.envs.perturbations", constant="PERTURBATION", group="cairn.perturbations"
)
CREDITS = ExtensionPoint(
    name="credit", package="cairn.trainer.credit.methods", constant="CREDIT", group="cairn.credits"
)
LOSSES = ExtensionPoint(name="loss", package="cairn.trainer.losses", constant="LOSS", group="cairn.losses")
CONTEXTS = ExtensionPoint(name="context", package="cairn.agents.context", constant="CONTEXT", group="cairn.contexts")
FORMS = ExtensionPoint(name="form", package="cairn.agents.forms", constant="FORM", group="cairn.forms")
BACKENDS = ExtensionPoint(name="backend", package="cairn.agents.backends", constant="BACKEND", group="cairn.backends")
SANDBOXES = ExtensionPoint(name="sandbox", package="cairn.sandboxes.kinds", constant="SANDBOX", group="cairn.sandboxes")
TRACKERS = ExtensionPoint(name="tracker", package="cairn.trainer.trackers", constant="TRACKER", group="cairn.trackers")
POINTS = (ENVS, PERTURBATIONS, SANDBOXES, CREDITS, LOSSES, CONTEXTS, FORMS, BACKENDS, TRACKERS)
