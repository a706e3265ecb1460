"""Settings of every test process, limits on resources of the run, and tests that this machine cannot run."""

from __future__ import annotations

import gc
import os
import sys
from collections.abc import Callable, Iterator
from importlib.util import find_spec

import hypothesis
import pytest

from tests.resources import GIB, Resources, trim_memory
from tests.sampling import is_of_today

pytest_plugins = ["tests.safety"]
# How long an example takes depends on the machine. The default run takes the same examples each time, so that it does
# not fail by chance; `make test-all` searches further, with random ones.
hypothesis.settings.register_profile("default", deadline=None, derandomize=True, max_examples=12)
hypothesis.settings.register_profile("search", deadline=None, max_examples=100)
hypothesis.settings.load_profile("default")
SETTINGS = {
    "OMP_NUM_THREADS": "1",  # two threads on a busy machine are several times slower than one
    "HF_HUB_OFFLINE": "1",
    "TRANSFORMERS_OFFLINE": "1",
    "TOKENIZERS_PARALLELISM": "false",
}
for name, value in SETTINGS.items():
    os.environ.setdefault(name, value)


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("cairn")
    group.addoption("--memory-limit", type=float, default=4.0, help="GiB that the run may use at its peak")
    group.addoption("--process-limit", type=int, default=60, help="processes that the run may have at its peak")


def pytest_configure(config: pytest.Config) -> None:
    os.environ.pop("PYTEST_ADDOPTS", None)  # this run has read them; runs that tests start do not
    config.pluginmanager.register(
        Resources(
            limit_bytes=int(config.getoption("memory_limit") * GIB),
            limit_processes=config.getoption("process_limit"),
            is_worker=hasattr(config, "workerinput"),
        )
    )


@pytest.fixture(scope="session", autouse=True)
def _cache_of_the_tests(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Keep the catalogues that tests make out of the user's cache folder."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("CAIRN_CACHE", str(tmp_path_factory.mktemp("cache")))
        yield


@pytest.fixture(scope="module", autouse=True)
def _close_shared() -> Iterator[None]:
    """Close the shared resources of environments when a module ends: an idle browser has ten processes and 300 MB."""
    yield
    if (browsing := sys.modules.get("cairn.envs.gui.browsing")) is not None:
        browsing.close_browsers()
    if (sessions := sys.modules.get("cairn.envs.sandbox_lease")) is not None:
        sessions.close_idle_sessions()
    trim_memory()


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Iterator[None]:
    """Freeze the objects of collection: the garbage collector searches half a million objects in a second."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


def pytest_itemcollected(item: pytest.Item) -> None:
    """Leave a rotating test to other days, and keep the tests of a file in one process unless they name another group.

    There they share fixtures and caches.
    """
    rotating = item.get_closest_marker("rotating")
    if rotating is not None and not is_of_today(item.nodeid, *rotating.args):
        item.add_marker(pytest.mark.slow)
    if item.get_closest_marker("xdist_group") is None:
        item.add_marker(pytest.mark.xdist_group(item.nodeid.partition("::")[0]))


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    _skip_without(_has_gpu, "gpu", "torch sees no CUDA device", items)
    _skip_without(lambda: find_spec("vllm") is not None, "vllm", "vLLM is not installed: make test-vllm", items)


def _skip_without(is_there: Callable[[], bool], marker: str, reason: str, items: list[pytest.Item]) -> None:
    needing = [item for item in items if item.get_closest_marker(marker)]
    if needing and not is_there():
        for item in needing:
            item.add_marker(pytest.mark.skip(reason=reason))


def _has_gpu() -> bool:
    import torch

    return torch.cuda.is_available()
