"""Every tutorial works as printed; the default run follows one of them in turn."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.docs.tutorial import pages, run_page
from tests.sampling import sample
from tests.test_readme import check_held_out_tasks

TUTORIALS = list(pages(Path(__file__).parents[2] / "docs" / "tutorials"))
IN_TURN = ("first-run", "api-model", "own-agent")  # training; a model behind an API; an agent of one's own
DEFAULT = sample(IN_TURN, parts=3)
PARAMS = [
    pytest.param(page, id=page.stem, marks=() if page.stem in DEFAULT else pytest.mark.slow) for page in TUTORIALS
]


@pytest.mark.xdist_group("memory")
@pytest.mark.timeout(900)  # a page trains, several times, and a busy machine is slow
@pytest.mark.parametrize("page", PARAMS)
def test_the_tutorial_works_as_printed(page: Path, tmp_path: Path) -> None:
    run_page(page, tmp_path)
    for folder in {file.parent for file in tmp_path.rglob("checkpoints")}:
        check_held_out_tasks(folder)
