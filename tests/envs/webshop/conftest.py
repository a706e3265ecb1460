"""Opens the tiny shop."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from cairn.envs.webshop import env
from cairn.envs.webshop.env import WebShopEnv
from cairn.envs.webshop.goals import Goals
from cairn.envs.webshop.products import Product
from cairn.envs.webshop.shop import Shop
from tests.envs.webshop import tiny
from tests.envs.webshop.tiny import Make


@pytest.fixture
def tiny_env(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Make:
    """Return a factory of environments of the tiny shop, or of a shop of other products."""

    def make(*products: Product, **config: Any) -> WebShopEnv:  # Any: settings
        catalogue = tiny.catalogue(tmp_path, *products)
        monkeypatch.setattr(env, "open_shop", lambda *_: Shop(catalogue, Goals(catalogue)))
        return WebShopEnv(**{"split": "all", **config})

    return make
