"""What every test process is told before torch is imported, and which tests this machine cannot run."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from importlib.util import find_spec

import hypothesis
import pytest

hypothesis.settings.register_profile("cairn", deadline=None)  # how long an example takes depends on the machine
hypothesis.settings.load_profile("cairn")
SETTINGS = {
    "OMP_NUM_THREADS": "1",  # two threads on a busy machine are several times slower than one
    "HF_HUB_OFFLINE": "1",
    "TRANSFORMERS_OFFLINE": "1",
    "TOKENIZERS_PARALLELISM": "false",
}
for name, value in SETTINGS.items():
    os.environ.setdefault(name, value)


@pytest.fixture(scope="session", autouse=True)
def _cache_of_the_tests(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Keep the catalogues that tests make out of the user's cache folder."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("CAIRN_CACHE", str(tmp_path_factory.mktemp("cache")))
        yield


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
