"""Registers Cairn's environments with Gymnasium once both are imported, in either order.

Gymnasium 1 has no entry point for plug-ins, and its import takes longer than the time budget of ``import cairn``. So if
Gymnasium is not imported yet, a finder on ``sys.meta_path`` waits for its import, delegates to the ordinary finders,
and removes itself.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from importlib.util import find_spec
from types import ModuleType


def install() -> None:
    """Register now if Gymnasium is imported, else on its import."""
    if "gymnasium" in sys.modules:
        _register_all()
    else:
        sys.meta_path.insert(0, _Waiting())


def add(env_id: str) -> None:
    """Register one id without Gymnasium's wrappers.

    The environment itself limits turns and checks calls.
    """
    from gymnasium.envs.registration import register, registry

    if (name := name_of(env_id)) not in registry:
        register(
            id=name,
            entry_point="cairn.envs.registry:make",
            kwargs={"env_id": env_id},
            order_enforce=False,
            disable_env_checker=True,
        )


def name_of(env_id: str) -> str:
    """Return an id in Gymnasium's form, which allows one slash.

    ``cairn/webshop-basket`` is ``webshop/basket``.
    """
    return f"cairn/{env_id.replace('/', '-')}"


class _Waiting(MetaPathFinder):
    def find_spec(
        self, fullname: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if fullname != "gymnasium":
            return None
        sys.meta_path.remove(self)
        spec = find_spec("gymnasium")
        if spec is not None and spec.loader is not None:
            spec.loader = _ThenRegister(spec.loader)
        return spec


class _ThenRegister(Loader):
    """Executes a module with its own loader, restores that loader, registers environments."""

    def __init__(self, loader: Loader) -> None:
        self.loader = loader

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        return self.loader.create_module(spec)

    def exec_module(self, module: ModuleType) -> None:
        module.__loader__ = self.loader
        if module.__spec__ is not None:
            module.__spec__.loader = self.loader
        self.loader.exec_module(module)
        _register_all()


def _register_all() -> None:
    from cairn.core.plugins import ENVS

    for env_id in ENVS.ids():
        add(env_id)
