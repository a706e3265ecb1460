"""Environments by id: from `envs`, entry points, `register` or a dotted path.

Listing imports no environment; loading imports one. Importing Cairn and Gymnasium, in either order, registers every
listed id with Gymnasium as ``cairn/<id>`` (see `envs._gymnasium`).
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, TypeVar

from cairn.core.config import build
from cairn.core.errors import CairnError, CairnWarning, EnvironmentFailure, UnknownNameError
from cairn.core.plugins import DOTTED, ENVS, load_dotted
from cairn.envs import _gymnasium
from cairn.envs.base import EnvMeta, TextEnv
from cairn.envs.perturbed import Perturbed

E = TypeVar("E", bound=TextEnv)

_registered: dict[str, str | type[TextEnv]] = {}


def make(
    env_id: str, *, render_mode: str | None = None, **config: Any
) -> TextEnv:  # Any: the environment's Config validates them
    """Return a new environment; `config` has fields of its Config, including `perturb`.

    Raises:
        UnknownNameError: the environment is unknown.
        ConfigError: a setting is unknown or invalid, or the environment does not support a perturbation.
    """
    env = load(env_id)(render_mode=render_mode, **config)
    return Perturbed(env) if env.config.perturb else env


@contextmanager
def closing_env(env: E) -> Iterator[E]:
    """Yield an environment and close it at the end; an error in its `close` is a warning."""
    try:
        yield env
    finally:
        close(env)


def close(env: TextEnv) -> None:
    """Close an environment that is not used again; an error in its `close` is a warning."""
    try:
        env.close()
    except (Exception, SystemExit) as error:  # noqa: BLE001  (the boundary to foreign code)
        message = f"Environment {env.meta.name!r} failed to close: {type(error).__name__}: {error}"
        warnings.warn(message, CairnWarning, stacklevel=2)


def declared(env_id: str, settings: Mapping[str, Any]) -> EnvMeta:  # Any: the environment's Config validates them
    """Return the declarations of an environment with these settings, without constructing it.

    Raises:
        UnknownNameError: the environment is unknown.
        ConfigError: a setting is unknown or invalid.
    """
    found = load(env_id)
    return found.declare(build(found.Config, settings, f"environment {found.meta.name!r}"))


def task_ids(env: TextEnv) -> list[str]:
    """Return the ids of an environment's tasks, in its order.

    Raises:
        EnvironmentFailure: its `tasks` raises, or does not return texts.
    """
    try:
        found = list(env.tasks())
    except CairnError:
        raise
    except (Exception, SystemExit) as error:  # the boundary to foreign code
        raise EnvironmentFailure(
            f"environment {env.meta.name!r} raised: {type(error).__name__}: {error} (in tasks())"
        ) from error
    if wrong := [task for task in found if not isinstance(task, str)]:
        raise EnvironmentFailure(f"environment {env.meta.name!r}: tasks() must return texts, got {wrong[0]!r:.100}")
    return found


def list_tasks(env_id: str, settings: Mapping[str, Any]) -> list[str]:  # Any: the environment's Config validates them
    """Return the task ids of an environment with these settings.

    See `make` and `task_ids` for errors.
    """
    with closing_env(make(env_id, **settings)) as env:
        return task_ids(env)


def register(env_id: str, target: str | type[TextEnv]) -> None:
    """Register `target`, a class or ``"package.module:Class"``, as `env_id`, without an import.

    Raises:
        CairnError: another environment has the id, or `target` is invalid.
    """
    if isinstance(target, str) and not DOTTED.fullmatch(target):
        raise CairnError(f"Expected PACKAGE.MODULE:CLASS or a class for environment {env_id!r}, got {target!r}")
    taken = _registered.get(env_id, target) != target or env_id in ENVS.ids()
    if taken or DOTTED.fullmatch(env_id):
        raise CairnError(f"Cannot register environment {env_id!r}: the id is taken. Ids in use: cairn envs list")
    _registered[env_id] = target
    _gymnasium.add(env_id)


def load(env_id: str) -> type[TextEnv]:
    """Return the class behind an id or a dotted path.

    Raises:
        UnknownNameError: the environment is unknown.
        CairnError: the class is not a `TextEnv`, or has no `meta`; or `env_id` is not text.
    """
    if not isinstance(env_id, str):
        raise CairnError(f"Expected the id of an environment, or 'package.module:Class', got {env_id!r:.100}")
    target = _registered.get(env_id, env_id)
    if not isinstance(target, str):
        found: Any = target  # Any: checked below
    elif DOTTED.fullmatch(target):
        found = load_dotted(target)
    else:
        try:
            found = ENVS.load(target)
        except UnknownNameError as error:
            if error.name != target:  # an unknown name inside the environment's own module
                raise
            raise UnknownNameError("environment", env_id, ids(), "cairn envs list") from None
    if not (isinstance(found, type) and issubclass(found, TextEnv)):
        raise CairnError(f"Environment {env_id!r} must be a subclass of cairn.envs.base.TextEnv, got {found!r}")
    if not isinstance(getattr(found, "meta", None), EnvMeta):
        raise CairnError(
            f"Environment {env_id!r} lacks its declaration: {found.__qualname__} needs `meta = EnvMeta(name=..., "
            "version=1, turn_limit=..., reward_range=(0, 1), summary=...)`; cairn envs new writes an example"
        )
    return found


def ids() -> list[str]:
    """Return every registered id, sorted; imports no environment."""
    return sorted({*ENVS.ids(), *_registered})


def address(env_id: str) -> str:
    """Return a name under which `load` finds the same class in another process.

    Raises:
        CairnError: the class is local to a function, so that other processes cannot import it.
    """
    target = _registered.get(env_id, env_id)
    if isinstance(target, str):
        return target
    path = f"{target.__module__}:{target.__qualname__}"
    if not DOTTED.fullmatch(path) or target.__module__ == "__main__":
        raise CairnError(f"Environment {env_id!r} must be at the top level of an importable module, got {path!r}")
    return path


def register_with_gymnasium() -> None:
    """Register every id as ``cairn/<id>`` with Gymnasium; repeated calls have no effect."""
    for env_id in ids():
        _gymnasium.add(env_id)
