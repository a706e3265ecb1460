"""CreditBench against exact values: by hand, by finite differences, and metrics of known advantages."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from cairn.benchmarks.credit import factorial, report, run, speed, stock, widths
from cairn.benchmarks.credit.mdp import MDP, Action, DecisionRules, Outcome, State, evaluate, tabulate, value_of
from cairn.benchmarks.credit.policies import policy_of_value
from cairn.benchmarks.credit.rollouts import sample
from cairn.benchmarks.credit.score import METRICS, metrics, summands, summary, truths
from cairn.benchmarks.credit.study import Condition, Methods, StudyResult, episodes, measurable, study
from cairn.benchmarks.credit.worlds import WORLDS
from cairn.core.errors import CairnError
from cairn.core.table import Floats, StepTable
from cairn.trainer.credit import advantages

CHAIN = Condition(world="chain", level=0.4, size=4, tasks=2, groups=10)


def fork(_: State) -> Sequence[Action]:
    return ("left", "right")


def fall(state: State, action: Action) -> Sequence[Outcome]:
    """From the top left ends with 1, right leads to "low"; there left ends with 1 half of the time, right with 0."""
    if state == "top":
        return [(1.0, "low", 0.0, False)] if action == "right" else [(1.0, "top", 1.0, True)]
    if action == "left":
        return [(0.5, "low", 1.0, True), (0.5, "low", 0.0, True)]
    return [(1.0, "low", 0.0, True)]


@pytest.fixture
def small() -> MDP:
    return tabulate(DecisionRules(start="top", actions=fork, outcomes=fall, horizon=2))


HALF = np.full((3, 2), 0.5)


def test_states_are_numbered_from_the_start_to_the_end(small: MDP) -> None:
    assert small.next.shape == (3, 2, 2)
    assert small.next[:, :, 0].tolist() == [[2, 1], [2, 2], [2, 2]]
    assert small.action.tolist() == [[0, 1], [0, 1], [-1, -1]]
    assert not small.is_deterministic


def test_values_and_advantages_by_hand(small: MDP) -> None:
    # low: 1/2 x 1/2 = 1/4; top: 1/2 x 1 + 1/2 x 1/4 = 5/8
    exact = evaluate(small, HALF)
    assert exact.value == value_of(small, HALF) == 5 / 8
    np.testing.assert_allclose(exact.advantage_HSA[0, 0], [3 / 8, -3 / 8])
    np.testing.assert_allclose(exact.advantage_HSA[1, 1], [1 / 4, -1 / 4])
    assert exact.visits_HS.tolist() == [[1, 0, 0], [0, 1 / 2, 0]]
    assert exact.gradient_SA.tolist() == [[3 / 16, -3 / 16], [1 / 16, -1 / 16], [0, 0]]


def test_a_turn_limit_removes_later_rewards() -> None:
    short = tabulate(DecisionRules(start="top", actions=fork, outcomes=fall, horizon=1))
    np.testing.assert_allclose(evaluate(short, HALF).advantage_HSA[0, 0], [1 / 2, -1 / 2])


def test_more_states_than_allowed_are_refused() -> None:
    with pytest.raises(ValueError, match="more than 1 states"):
        tabulate(DecisionRules(start="top", actions=fork, outcomes=fall, horizon=2), limit=1)


@pytest.mark.parametrize("world", ["shop", "doors", "slippery"])
def test_the_gradient_is_that_of_the_value_by_the_logits(world: str) -> None:
    mdp = tabulate(WORLDS[world](0))
    policy_SA = policy_of_value(mdp, 0.4, seed=0)
    gradient_SA = evaluate(mdp, policy_SA).gradient_SA
    place = np.unravel_index(np.abs(gradient_SA).argmax(), gradient_SA.shape)
    logits_SA = np.log(np.maximum(policy_SA, 1e-300))

    def value(step: float) -> float:
        moved = logits_SA.copy()
        moved[place] += step
        weights = np.where(mdp.exists, np.exp(moved), 0.0)
        return value_of(mdp, weights / np.maximum(weights.sum(-1, keepdims=True), 1e-300))

    np.testing.assert_allclose((value(1e-5) - value(-1e-5)) / 2e-5, gradient_SA[place], rtol=1e-6)


@pytest.mark.parametrize("world", WORLDS)
@pytest.mark.parametrize("level", [0.02, 0.9])
def test_policies_reach_the_requested_value(world: str, level: float) -> None:
    if world == "fetch":
        pytest.skip("a larger problem of the kind of slippery and aliased")
    mdp = tabulate(WORLDS[world](1))
    policy_SA = policy_of_value(mdp, level, seed=1)
    np.testing.assert_allclose(value_of(mdp, policy_SA), level, atol=1e-4)
    np.testing.assert_allclose(policy_SA.sum(-1), mdp.exists.any(-1), atol=1e-12)


def test_episodes_follow_the_policy_and_the_rules() -> None:
    mdp = tabulate(WORLDS["slippery"](0))
    policy_SA = policy_of_value(mdp, 0.4, seed=0)
    table = sample(mdp, policy_SA, groups=200, size=8, seed=3).table
    score = np.bincount(table.episode, table.reward)
    assert abs(score.mean() - 0.4) < 4 * np.sqrt(0.24 / 1600)  # four standard errors
    assert np.bincount(table.episode).max() == mdp.horizon
    assert not table.truncated[table.success].any()
    assert (table.success == (score > 0)[table.episode]).all()


def exact_rows() -> tuple[Floats, Floats]:
    """Return the metrics of the exact advantages of some episodes, and of their negatives."""
    policy_SA, exact, rows = next(episodes(CHAIN))
    truth = truths(exact, rows)
    good, bad = (metrics(summands(policy_SA, exact, rows, x).sum(0), CHAIN.groups) for x in (3 * truth, -truth))
    return good, bad


def test_exact_advantages_get_full_marks_at_any_scale() -> None:
    good, bad = (dict(zip(METRICS, found, strict=True)) for found in exact_rows())
    assert good["correlation"] == pytest.approx(1)
    assert good["rank"] == pytest.approx(1)
    assert (good["sign"], bad["sign"]) == (1, 0)
    assert good["error"] == pytest.approx(0, abs=1e-12)
    assert good["cosine"] > 0.4  # four episodes show little of the gradient, even with exact advantages
    assert bad["cosine"] == pytest.approx(-good["cosine"])
    assert bad["correlation"] == pytest.approx(-1)


def test_advantages_of_0_get_no_marks() -> None:
    policy_SA, exact, rows = next(episodes(CHAIN))
    found = metrics(summands(policy_SA, exact, rows, np.zeros(len(rows.state))).sum(0), CHAIN.groups)
    np.testing.assert_array_equal(found, [0, 0, 0, 0, 0, 1])


def test_intervals_hold_the_mean_and_shrink_with_the_number_of_groups() -> None:
    policy_SA, exact, rows = next(episodes(Condition(world="chain", level=0.4, size=4, groups=160)))
    values = summands(policy_SA, exact, rows, advantages(rows.table, "gigpo")[rows.table.order])
    found, low, high = summary([values], seed=0)
    assert (low <= found).all()
    assert (found <= high).all()
    _, few_low, few_high = summary([values[:10]], seed=0)
    assert few_high[0] - few_low[0] > 1.3 * (high[0] - low[0])


def test_the_study_gives_every_method_the_same_episodes() -> None:
    methods: Methods = {name: (method, {}) for name, method in (("one", "grpo"), ("two", "grpo"), ("dr", "dr_grpo"))}
    found = {r.method: r for r in study(methods, [CHAIN])}
    assert found["(exact)"].of("correlation")[0] == pytest.approx(1)
    np.testing.assert_array_equal(found["one"].found, found["two"].found)
    assert found["one"].of("correlation")[0] > 0.1
    assert found["one"].of("correlation") != found["dr"].of("correlation")


def test_methods_that_need_a_critic_are_left_out_and_named() -> None:
    methods, left_out = measurable()
    assert {"grpo", "gigpo", "salt", "closure", "unlikeliness"} <= set(methods)
    assert {"gae", "gdpo"} <= set(left_out)


def results() -> list[StudyResult]:
    """Three methods in two places: the first best by 0.2, the others equal."""

    def result(method: str, world: str, value: float) -> StudyResult:
        found = np.full(6, value)
        return StudyResult(
            method=method,
            condition=Condition(world=world, level=0.4, size=8),
            found=found,
            low=found - 0.05,
            high=found + 0.05,
        )

    values = {"closure": 0.5, "gigpo": 0.3, "grpo": 0.3, "crbc": 0.45, "graft": 0.6}
    return [result(method, world, value) for world in ("fetch", "shop") for method, value in values.items()]


def test_ranks_share_ties_and_bars_look_at_intervals() -> None:
    ranks = {"graft": 1, "closure": 2, "crbc": 3, "gigpo": 4.5, "grpo": 4.5}
    assert report.mean_ranks(results(), "cosine") == ranks
    rows = {str(row["name"]): row for row in report.bars(results(), ["fetch"], is_claim=True)}
    assert rows["credit: closure, mean rank of 5 in gradient cosine"]["holds"] is False
    assert rows["credit: closure above gigpo and grpo at 40 % in gradient cosine, intervals apart"]["value"] == 2
    apart = "at 40 % on fetch (sparse) in gradient cosine, space between intervals"
    assert rows[f"credit: closure above crbc {apart}"]["value"] == pytest.approx(-0.05)
    assert rows[f"credit: closure above graft {apart}"]["holds"] is False


def test_numbers_and_figure_are_written(tmp_path: Path) -> None:
    report.write(results(), {"alone": {}}, tmp_path / "all.json")
    assert '"cosine": [0.5, 0.45, 0.55]' in (tmp_path / "all.json").read_text(encoding="utf-8")
    report.draw(results(), tmp_path / "all.png")
    assert (tmp_path / "all.png").read_bytes().startswith(b"\x89PNG")
    assert report.tables(results())[0].rows[0] == ("graft", "1.00", "0.600 [0.550, 0.650]", "0.600 [0.550, 0.650]")


def test_widths_hold_most_exact_advantages() -> None:
    rows, table = widths.measure([Condition(world="chain", level=0.4, size=8, tasks=2, groups=30)], is_claim=True)
    assert 0.8 < float(str(rows[0]["value"])) < 1.0
    assert float(table.rows[0][3]) > 0.0


def test_every_combination_of_slots_is_a_method() -> None:
    combinations = factorial.combinations()
    # 3 keys x 4 normalisers x (1 return + 4 backups x 4 credits)
    assert len(combinations) == 204
    table = StepTable.from_columns(**speed.columns(400))
    name = "observations(2) | distance | gae | floor"
    method, settings = combinations[name]
    assert np.isfinite(advantages(table, method, **settings)).all()


def test_the_ablation_has_a_row_for_every_changed_setting_of_closure() -> None:
    table = factorial.ablation([CHAIN])
    assert [row[0] for row in table.rows] == list(factorial.CHANGES)
    as_it_is, *changed = (row[1:] for row in table.rows)
    assert sum(row != as_it_is for row in changed) >= 6  # a chain has no timeouts and no aliases


def test_the_baseline_of_the_speed_benchmark_equals_gigpo() -> None:
    made = speed.columns(1600)
    names = [np.array([f"{key} {x}" for x in made[key].tolist()], object) for key in ("group", "episode", "anchor")]
    group, episode, anchor = names
    expected = stock.gigpo(group, episode, anchor, made["reward"])
    found = advantages(StepTable.from_columns(**made), "gigpo", averaging="step", normalize="none")
    np.testing.assert_allclose(found, expected, atol=1e-12)


def test_mutually_exclusive_options_are_rejected(tmp_path: Path) -> None:
    with pytest.raises(CairnError, match="exclude each other"):
        run(speed=True, out=tmp_path)
