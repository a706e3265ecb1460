"""Updates next to TRL's: rows by hand, output without TRL, and the work of Cairn's side."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from cairn.agents.agent import contexts
from cairn.benchmarks.envs._measure import memory_mb
from cairn.benchmarks.outcome import Row
from cairn.benchmarks.process import in_forked_process, in_fresh_process, peak_memory_mb
from cairn.benchmarks.quickstart import environment, fresh_policy
from cairn.benchmarks.train import side_by_side, with_cairn, with_trl
from cairn.benchmarks.train.side_by_side import HELD, OURS, THEIRS, compare, table
from cairn.benchmarks.train.side_by_side import rows as rows_of
from cairn.benchmarks.train.updates import PHASES, UpdateTimes, Workload, run_config, task_ids
from cairn.core.keys import unsigned
from cairn.core.records import Observation

SMALL = Workload(tasks=2, group=2, turns=3, reply_tokens=4, updates=2)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> str:
    where = tmp_path_factory.mktemp("policy")
    fresh_policy().save(where)
    return str(where)


def update(seconds: float, cpu_seconds: float) -> UpdateTimes:
    """8 episodes of 2 turns of 3 tokens; every phase takes a fifth of the time."""
    return UpdateTimes(
        seconds=seconds, cpu_seconds=cpu_seconds, phases=dict.fromkeys(PHASES, seconds / 5),
        episodes=8, turns=16, sampled=48, solved=1, peak_mb=100.0 * seconds,
    )  # fmt: skip


def by_name(rows: Sequence[Row]) -> dict[object, Row]:
    return {row["name"]: row for row in rows}


def test_the_bar_is_the_median_of_the_rounds_ratios_by_processor_time() -> None:
    """Rounds: 40 / 10 = 4, 30 / 12 = 2.5 and 33 / 10 = 3.3 times as many episodes a second of the processor."""
    ours = [update(10.0, 10.0), update(10.0, 12.0), update(10.0, 10.0)]
    theirs = [update(20.0, 40.0), update(40.0, 30.0), update(30.0, 33.0)]
    found = by_name(rows_of({OURS: ours, HELD: ours, THEIRS: theirs}))
    end_to_end = found["train: update, episodes/s, end to end, Cairn against TRL"]
    assert end_to_end["value"] == pytest.approx(3.3)
    assert (end_to_end["bar"], end_to_end["holds"]) == (">= 3.0", True)
    assert str(end_to_end["baseline"]).endswith("rounds: 4.00, 2.50, 3.30")
    assert found["train: update, the same by wall time, Cairn against TRL"]["value"] == pytest.approx(3.0)
    assert found["train: update, peak memory, Cairn against TRL"]["value"] == pytest.approx(1 / 3)
    slower = [update(10.0, 12.0)] * 3
    again = by_name(rows_of({OURS: slower, HELD: slower, THEIRS: theirs}))
    assert again["train: update, episodes/s, end to end, Cairn against TRL"]["holds"] is False


def test_rates_and_shares_by_hand() -> None:
    """10 s: 2 s each of rollout and environment for 48 tokens, which is 12 a second; 8 episodes in 10 s."""
    found = by_name(rows_of({OURS: [update(10.0, 9.0)]}))
    assert found["train: update, Cairn, episodes/s"]["value"] == pytest.approx(0.8)
    assert found["train: update, Cairn, sampled tokens/s of rollout"]["value"] == pytest.approx(12.0)
    assert found["train: update, Cairn, optimiser step"]["value"] == pytest.approx(2.0)
    assert [found[f"train: update, Cairn, share of {p}"]["value"] for p in PHASES] == pytest.approx([0.2] * 5)


def test_without_trl_a_row_names_the_command_to_install_it() -> None:
    rows = rows_of({OURS: [update(10.0, 9.0)], HELD: [update(10.0, 9.0)]})
    assert rows[-1] == {
        "name": "train: TRL not measured: not installed; pip install -c constraints.txt -e '.[trl]'",
        "value": None, "unit": "", "baseline": None, "bar": None, "holds": None,
    }  # fmt: skip
    assert not any("against TRL" in str(row["name"]) for row in rows)


def test_only_the_sides_that_are_installed_are_measured(monkeypatch: pytest.MonkeyPatch) -> None:
    called: list[object] = []

    def measured(function: object, *_: object) -> UpdateTimes:
        called.append(function)
        return update(10.0, 9.0)

    monkeypatch.setattr(side_by_side, "in_fresh_process", measured)
    for is_installed in (False, True):
        monkeypatch.setattr(with_trl, "is_installed", lambda answer=is_installed: answer)
        called.clear()
        found = side_by_side._measured("folder", SMALL, rounds=2)
        assert (with_trl.measure in called) == is_installed
        assert {len(updates) for updates in found.values()} == {2}
        assert called == called[: len(found)] * 2, "sides take turns"


def test_a_quick_run_reports_that_nothing_was_measured() -> None:
    rows, tables = compare(quick=True)
    assert tables == []
    assert [row["value"] for row in rows] == [None]
    assert "not measured" in str(rows[0]["name"])


@pytest.mark.rotating(4)
def test_cairns_phases_add_up_and_its_counts_are_those_of_one_update(folder: str) -> None:
    found = in_forked_process(with_cairn.measure, folder, SMALL, False)
    assert sum(found.phases.values()) == pytest.approx(found.seconds)
    assert sum(found.share(phase) for phase in PHASES) == pytest.approx(1.0)
    assert all(seconds >= 0 for seconds in found.phases.values())
    assert min(found.phases["rollout"], found.phases["environment"], found.phases["learn"]) >= 0
    assert found.phases["rollout"] > found.phases["environment"] > 0
    assert found.episodes == 4
    assert 4 <= found.turns <= 12, "one update's, not all"
    assert found.turns <= found.sampled <= 4 * found.turns
    assert len(table({OURS: [found]}).rows[0]) == len(table({OURS: [found]}).columns)


def test_both_sides_play_the_tasks_of_the_run(folder: str) -> None:
    config = run_config(SMALL, folder, constrain=False)
    assert (config.trainer.groups, config.trainer.group_size, config.learner.minibatches) == (2, 2, 1)
    assert not config.agent.constrain
    tasks = task_ids(SMALL)
    assert len(tasks) == len(set(tasks)) == 4
    assert set(tasks) <= set(environment().tasks())


def test_trls_side_shows_the_model_the_same_prompt_as_cairns(folder: str) -> None:
    """The template and the tools' answers, rendered, against the ids of our own context."""
    tokenizer, policy = with_trl._tokenizer(folder), fresh_policy()
    tool, env = with_trl.Household(), environment()
    task = task_ids(SMALL)[0]
    context = contexts(run_config(SMALL, folder, constrain=False).agent, policy)()
    text, info = env.reset(seed=0, options={"task": task})
    messages: list[dict[str, Any]] = [{"role": "user", "content": tool.reset(task=task)}]  # Any: as TRL writes them
    ours: list[int] = []
    for action in ("look", "inventory"):
        seen = Observation(text=text, anchor=unsigned(info["anchor"]))
        reply = context.render(action)
        ours += [*context.prompt(seen).ids]
        assert policy.encoder.decode(ours) == tokenizer.apply_chat_template(
            messages, tokenize=False, add_generation_prompt=True
        )
        context.record(seen, action, reply)
        ours += reply
        call = {"type": "function", "function": {"name": "act", "arguments": {"action": action}}}
        messages += [
            {"role": "assistant", "content": "", "tool_calls": [call]},
            {"role": "tool", "name": "act", "content": tool.act(action=action)},
        ]
        text, _, _, _, info = env.step(action)


@pytest.mark.parametrize(("reply", "action"), [("go to desk 1", "go to desk 1"), ("", ""), (" <x> look", "<x> look")])
def test_every_reply_is_a_call_of_the_one_tool(folder: str, reply: str, action: str) -> None:
    read = with_trl._tokenizer(folder).parse_response(f"{reply}<|end|>", prefix="text<|act|>")
    assert [call["function"] for call in read["tool_calls"]] == [{"name": "act", "arguments": {"action": action}}]


def test_the_result_after_the_end_exceeds_the_token_limit(folder: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(with_trl.Household, "turn_limit", 2)
    tool = with_trl.Household()
    tool.reset(task=task_ids(SMALL)[0])
    tokenizer = with_trl._tokenizer(folder)
    lengths = [len(tokenizer.encode(tool.act(action="look"))) for _ in range(2)]
    assert lengths[0] < 200
    assert lengths[1] > with_trl._MOST_TOKENS


@pytest.mark.slow
@pytest.mark.skipif(not with_trl.is_installed(), reason="needs the extra trl")
def test_trls_phases_add_up_and_it_plays_as_many_turns(folder: str) -> None:
    found = in_fresh_process(with_trl.measure, folder, SMALL)
    assert sum(found.phases.values()) == pytest.approx(found.seconds)
    assert all(seconds >= 0 for seconds in found.phases.values())
    assert found.phases["rollout"] > found.phases["environment"] > 0
    assert found.phases["learn"] > 0
    assert found.turns == 12, "untrained, nothing is solved"
    assert found.turns <= found.sampled <= 4 * found.turns


def _peaks_over_present(sizes: tuple[int, ...]) -> list[float]:
    return [_peak_over_present(megabytes) for megabytes in sizes]


def _peak_over_present(megabytes: int) -> float:
    data = bytearray(megabytes * 2**20)
    data[:: 2**12] = b"x" * len(data[:: 2**12])
    del data
    return peak_memory_mb() - memory_mb()


@pytest.mark.slow
def test_peak_memory_is_the_largest_resident_size() -> None:
    small, large = in_fresh_process(_peaks_over_present, (1, 200))
    assert -1 < small < 100, "both are read one after the other, and the kernel counts pages in batches"
    assert large == pytest.approx(200, abs=50)
