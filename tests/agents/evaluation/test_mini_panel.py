"""The panel of all four families, played whole: the oracle wins every task, doing nothing wins none."""

from __future__ import annotations

from pathlib import Path

import pytest

from cairn.agents.evaluation.evaluate import Evaluation, evaluate
from cairn.agents.evaluation.jobs import Pace

FAMILIES = ["household", "webshop", "code", "gui"]
pytestmark = [pytest.mark.slow, pytest.mark.timeout(1800)]


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("evals")


@pytest.fixture(scope="module")
def oracle(root: Path) -> Evaluation:
    return evaluate("oracle", panel="cairn-mini", root=root, pace=Pace(slots=4))


def successes(found: Evaluation) -> dict[str, tuple[int, float]]:
    """Return, by family, how many episodes were scored and the share of tasks that were solved."""
    reported = {}
    for part in found.parts:
        assert part.measures.success is not None
        reported[part.family] = part.measures.episodes, part.measures.success.mean
    return reported


def test_the_oracle_solves_every_task(oracle: Evaluation) -> None:
    assert successes(oracle) == dict.fromkeys(FAMILIES, (12, 1.0))
    assert oracle.played == 48


def test_doing_nothing_solves_none(root: Path) -> None:
    assert successes(evaluate("null", panel="cairn-mini", root=root)) == dict.fromkeys(FAMILIES, (12, 0.0))


def test_a_finished_evaluation_is_not_repeated(oracle: Evaluation, root: Path) -> None:
    again = evaluate("oracle", panel="cairn-mini", root=root, on_episode=lambda *_: pytest.fail("it was played again"))
    assert (again.played, again.parts) == (0, oracle.parts)


def test_how_many_episodes_are_in_flight_changes_nothing(oracle: Evaluation, tmp_path: Path) -> None:
    other = evaluate("oracle", panel="cairn-mini", root=tmp_path, pace=Pace(slots=1))
    assert [part.digest for part in other.parts] == [part.digest for part in oracle.parts]
