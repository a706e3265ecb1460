"""Requirements of sandboxes besides this machine: an engine with an image, a server, network targets, a browser."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from cairn.core.errors import MissingProgramError
from cairn.sandboxes.base import Session
from cairn.sandboxes.browser.browser import Browser, BrowserConfig
from cairn.sandboxes.browser.find import find_browser
from cairn.sandboxes.browser.page import BrowserPage
from cairn.sandboxes.kinds.bubblewrap import Bubblewrap, BubblewrapConfig
from cairn.sandboxes.kinds.docker import DockerConfig
from tests.sandboxes.container import engine
from tests.sandboxes.network.listening import LIMITS, Listener, listener, networked
from tests.sandboxes.remote import serving


@pytest.fixture(scope="session")
def container_config(tmp_path_factory: pytest.TempPathFactory) -> Iterator[DockerConfig]:
    """Give the settings of a docker sandbox that works here; skip where none can."""
    with engine.engine(tmp_path_factory.mktemp("engine")) as problem:
        if problem is not None:
            pytest.skip(problem)
        engine.make_image("ENV CAIRN_TEST=image", "VOLUME /data", 'ENTRYPOINT ["/usr/bin/false"]')
        yield DockerConfig(image=engine.IMAGE)
        engine.remove_images()


@pytest.fixture(scope="session")
def server_kind() -> str:
    """Return the kind that servers of these tests serve: the strongest that works here without an engine."""
    return "landlock" if Bubblewrap(BubblewrapConfig()).problem() else "bubblewrap"


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory, server_kind: str) -> Iterator[serving.Server]:
    """Give a server that no test ends."""
    with serving.server(tmp_path_factory.mktemp("server"), kind=server_kind) as running:
        yield running


@pytest.fixture(scope="module")
def listed() -> Iterator[Listener]:
    """Give a server of the host that programs of `network_session` may reach."""
    with listener() as running:
        yield running


@pytest.fixture(scope="module")
def other() -> Iterator[Listener]:
    """Give a server of the host that they may not."""
    with listener() as running:
        yield running


@pytest.fixture(scope="module")
def lasting_network(listed: Listener) -> Iterator[Session]:
    """Give a session for all tests of a module."""
    with networked(listed.address).session(LIMITS) as session:
        yield session


@pytest.fixture
def network_session(lasting_network: Session, listed: Listener, other: Listener) -> Session:
    """Give an empty session with a network, and servers that nobody has come to yet."""
    lasting_network.reset()
    for one in (listed, other):
        one.visits.clear()
        one.ended.clear()
    return lasting_network


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """Give a browser for all tests of a module; skip if there is no browser."""
    try:
        find_browser()
    except MissingProgramError as error:
        pytest.skip(str(error))
    made = Browser(BrowserConfig(width=400, height=300))
    yield made
    made.close()


@pytest.fixture
def page(browser: Browser) -> Iterator[BrowserPage]:
    """Give a page of it."""
    with browser.lease() as found:
        yield found
