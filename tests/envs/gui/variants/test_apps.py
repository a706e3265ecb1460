"""The office's applications in a real Chromium: the oracle solves every template, doing nothing solves none."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from cairn.core.errors import UnknownNameError
from cairn.envs.gui.tasks import templates

pytest.importorskip("playwright", reason="needs Playwright: pip install -e '.[gui]'")

from cairn.envs.gui.apps import sites
from cairn.envs.gui.variants.apps import AppsEnv
from tests.envs.gui.browser import CHROMIUM
from tests.envs.gui.pages import bid
from tests.sampling import sample, sampled_params

pytestmark = [
    pytest.mark.rotating(4),
    pytest.mark.skipif(CHROMIUM is None, reason="needs Chromium"),
    pytest.mark.xdist_group("memory"),
]
SEEDS = 20
NAMES = sorted(templates())


@pytest.fixture(scope="module")
def env() -> Iterator[AppsEnv]:
    made = AppsEnv()
    yield made
    made.close()


def play(env: AppsEnv, task: str) -> float:
    """Return the oracle's score."""
    env.reset(seed=0, options={"task": task})
    terminated = truncated = False
    while not (terminated or truncated):
        text, score, terminated, truncated, info = env.step(env.oracle())
    assert info["success"], f"{task}: {text}"
    return score


@pytest.mark.parametrize("name", sampled_params(NAMES))
def test_the_oracle_solves_every_template(env: AppsEnv, name: str) -> None:
    assert play(env, f"{name}/{len(name) % SEEDS}") == 1.0


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_the_oracle_solves_every_template_at_all_seeds_in_turn(env: AppsEnv, name: str) -> None:
    assert {play(env, f"{name}/{seed}") for seed in sample(range(SEEDS), parts=10)} == {1.0}


@pytest.mark.parametrize("name", sampled_params(NAMES))
def test_doing_nothing_scores_nothing(env: AppsEnv, name: str) -> None:
    env.reset(seed=0, options={"task": f"{name}/0"})
    assert env.step("send_msg_to_user('Done.')")[1:3] == (0.0, True)


def test_anything_else_that_was_changed_takes_the_whole_score(env: AppsEnv) -> None:
    env.reset(seed=0, options={"task": "mail-label/0"})
    actions: list[str] = []
    while not env.oracle().startswith("send_msg"):
        actions.append(env.oracle())
        env.step(actions[-1])
    env.step("goto('http://mail/')")
    assert env.view is not None
    other = next(node.bid for node in env.view.nodes if node.role == "button" and node.name.startswith("Archive: "))
    env.step(f"click('{other}')")
    text, score, *_ = env.step("send_msg_to_user('Done.')")
    assert score == 0.0
    assert "not asked for" in text


def test_half_of_the_steps_earn_half_of_the_score(env: AppsEnv) -> None:
    from cairn.envs.gui.tasks import make_task

    task = next(
        f"{name}/0" for name in NAMES if len(make_task(name, 0).steps) == 2 and make_task(name, 0).answer is None
    )
    env.reset(seed=0, options={"task": task})
    while env._oracle._num_done < 1:
        env.step(env.oracle())
        env.oracle()
    assert env.step("send_msg_to_user('Done.')")[1] == 0.5


def test_a_state_that_is_met_again_by_another_way_has_the_same_anchor(env: AppsEnv) -> None:
    _, info = env.reset(seed=0, options={"task": "mail-label/0"})
    first = info["anchor"]
    env.step(f"click('{bid(env, 'link', 'Sent')}')")
    _, _, _, _, info = env.step(f"click('{bid(env, 'link', 'Trash')}')")
    by_way = info["anchor"]
    env.reset(seed=1, options={"task": "mail-label/0"})
    _, _, _, _, info = env.step(f"click('{bid(env, 'link', 'Trash')}')")
    assert info["anchor"] == by_way != first


def test_the_applications_are_eight_and_their_tasks_of_two_tiers() -> None:
    assert len(sites()) == 8
    tiers = [each.tier for each in templates().values()]
    assert (len(tiers), sorted(set(tiers))) == (129, ["simple", "workflow"])
    for app in sites():
        simple = [each for each in templates().values() if each.apps == (app,)]
        assert len(simple) >= 10, app
        assert {each.level for each in simple} == {1, 2, 3}, app


def test_tasks_are_chosen_by_tier_and_application() -> None:
    workflows = AppsEnv(tier="workflow", apps=("mail", "calendar"), split="test").tasks()
    assert workflows
    assert all(set(templates()[task.rpartition("/")[0]].apps) == {"mail", "calendar"} for task in workflows)
    assert not set(workflows) & set(AppsEnv(split="train").tasks())


@pytest.mark.parametrize(
    "task", ["mail-label", "mail-label/", "mail-label/-1", "mail-label/01", "mail-label/1e3", "x/0"]
)
def test_an_unknown_task_is_rejected(env: AppsEnv, task: str) -> None:
    with pytest.raises(UnknownNameError):
        env.reset(options={"task": task})


def test_environments_with_pictures_show_the_same_in_the_same_browser(env: AppsEnv) -> None:
    with AppsEnv(image=True) as pictured:
        assert pictured._browser is env._browser
        for task in (f"{NAMES[0]}/0", f"{NAMES[-1]}/1"):
            plain, shown = (each.reset(seed=0, options={"task": task}) for each in (env, pictured))
            assert shown[0] == plain[0]
            assert shown[1]["anchor"] == plain[1]["anchor"]
            assert shown[1]["image"].startswith(b"\x89PNG")
