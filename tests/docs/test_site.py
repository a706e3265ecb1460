"""The documentation as a site: every page has its place, no link is dead, and nothing is fetched from elsewhere."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from html.parser import HTMLParser
from importlib.util import find_spec
from pathlib import Path
from urllib.parse import unquote, urldefrag, urlsplit

import pytest

from cairn.core.errors import MissingProgramError
from cairn.sandboxes.browser.find import find_browser

ROOT = Path(__file__).parents[2]
SETTINGS = "zensical.toml"
LOADS = {("img", "src"), ("script", "src"), ("link", "href"), ("iframe", "src"), ("source", "src")}

needs_builder = pytest.mark.skipif(find_spec("zensical") is None, reason="Zensical is not installed: extra docs")


class _Targets(HTMLParser):
    """Collects the links and the loaded resources of a page."""

    def __init__(self) -> None:
        super().__init__()
        self.links: list[str] = []
        self.loaded: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        for name, value in attrs:
            if name in ("href", "src") and value:
                self.links.append(value)
                if (tag, name) in LOADS:
                    self.loaded.append(value)


def targets(page: Path) -> _Targets:
    found = _Targets()
    found.feed(page.read_text(encoding="utf-8"))
    return found


def listed(nav: object) -> Iterator[str]:
    """Give the pages of a navigation, however deep."""
    if isinstance(nav, str):
        yield nav
    elif isinstance(nav, dict):
        yield from (page for below in nav.values() for page in listed(below))
    elif isinstance(nav, list):
        yield from (page for below in nav for page in listed(below))


def build(folder: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "zensical", "build", "--strict", "--clean"]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True)


def is_elsewhere(address: str) -> bool:
    return bool(urlsplit(address).netloc)


def dead(site: Path) -> list[str]:
    """Return the addresses within a site behind which there is no file."""
    found = []
    for page in sorted(site.rglob("*.html")):
        if page.name == "404.html":
            continue  # served for any address, so its own are from the root
        for address in targets(page).links:
            place = unquote(urldefrag(address).url)
            if place and not urlsplit(place).scheme and not is_elsewhere(place):
                file = (page.parent / place).resolve()
                if not (file.is_file() or (file / "index.html").is_file()):
                    found.append(f"{page.relative_to(site)}: {address}")
    return found


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("pages")
    shutil.copy(ROOT / SETTINGS, folder)
    shutil.copytree(ROOT / "docs", folder / "docs")
    built = build(folder)
    assert built.returncode == 0, built.stdout + built.stderr
    return folder / "site"


def test_every_page_has_one_place_in_the_navigation() -> None:
    nav = tomllib.loads((ROOT / SETTINGS).read_text(encoding="utf-8"))["project"]["nav"]
    there = sorted(page.relative_to(ROOT / "docs").as_posix() for page in (ROOT / "docs").rglob("*.md"))
    assert sorted(listed(nav)) == there


@needs_builder
def test_no_link_is_dead(site: Path) -> None:
    assert dead(site) == []
    assert len(list(site.rglob("*.html"))) > 20


@needs_builder
def test_nothing_is_loaded_from_elsewhere(site: Path) -> None:
    pages = list(site.rglob("*.html"))
    assert [(page.name, address) for page in pages for address in targets(page).loaded if is_elsewhere(address)] == []
    for style in site.rglob("*.css"):
        assert not re.search(r"(url\(|@import)\s*[\"']?(https?:)?//", style.read_text(encoding="utf-8")), style.name


def test_a_dead_link_and_a_missing_picture_are_detected(tmp_path: Path) -> None:
    (tmp_path / "a.html").write_text('<a href="b.html#x"></a><img src="c.png"><a href="#y"></a><a href="//d.e/f"></a>')
    assert dead(tmp_path) == ["a.html: b.html#x", "a.html: c.png"]


@needs_builder
def test_the_build_refuses_a_link_to_no_page(tmp_path: Path) -> None:
    (tmp_path / "docs").mkdir()
    (tmp_path / SETTINGS).write_text('[project]\nsite_name = "x"\n')
    (tmp_path / "docs" / "index.md").write_text("# Title\n\n[further](other.md)\n")
    assert build(tmp_path).returncode != 0
    (tmp_path / "docs" / "other.md").write_text("# Other\n")
    assert build(tmp_path).returncode == 0


@needs_builder
def test_pages_can_be_searched_from_the_file_system(site: Path) -> None:
    sync_api = pytest.importorskip("playwright.sync_api")
    try:
        browser_path = find_browser()
    except MissingProgramError as error:
        pytest.skip(str(error))
    with sync_api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=browser_path, args=["--no-sandbox"])
        page = browser.new_page()
        asked: list[str] = []
        page.on("request", lambda request: asked.append(request.url))
        page.goto((site / "tutorials" / "first-run.html").as_uri())
        page.keyboard.press("Control+k")
        for letters in ("gloss", "ary"):  # the second half after the first has been answered
            page.keyboard.type(letters)
            page.locator("a[href*='glossary.html']", has_text="one word per idea").first.wait_for(timeout=60_000)
        typed = page.get_by_role("combobox").input_value()
        browser.close()
    assert typed == "glossary"
    assert asked
    assert [url for url in asked if urlsplit(url).scheme not in ("file", "data", "blob", "about")] == []
