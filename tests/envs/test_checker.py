"""Every property holds for a sound environment and catches the fault that it is there for."""

from __future__ import annotations

from typing import Any

import pytest

from cairn.core.errors import UnknownNameError
from cairn.envs.base import EnvMeta
from cairn.envs.checker import PROPERTIES, check, check_property
from cairn.envs.properties.subject import Subject
from tests.envs import faulty
from tests.sampling import sample, sampled_params

FAULTS = [
    ("methods", faulty.LacksAct, "LacksAct lacks act(self, action) (faulty.py:"),
    ("methods", faulty.TakesNoAction, "act(self) -> 'Outcome' cannot be called as act(self, action) (faulty.py:"),
    ("methods", faulty.ActsAsynchronously, "act is asynchronous; write `def act` (faulty.py:"),
    ("methods", faulty.AnswersWithText, "act must return an Outcome, got str (faulty.py:"),
    ("methods", faulty.HasTextAsState, "state must return bytes, got str (faulty.py:"),
    ("methods", faulty.SnapshotsWithoutMethods, "SnapshotsWithoutMethods lacks save_state(self) (faulty.py:"),
    ("replay", faulty.Hangs, "step('blue'), of task"),
    ("hostile-text", faulty.Hangs, "has not come back after 0.2 s, which is meta.call_timeout_s"),
    ("hidden-state", faulty.ForgetsDamage, "'smash'"),
    ("declaration", faulty.WithoutVersion, "version must be 1 or more, got 0"),
    ("declaration", faulty.HasAToolTwice, "names a function twice: ['go', 'go']"),
    ("gymnasium", faulty.ResetsToAList, "was not a tuple"),
    ("errors", faulty.TakesAnyTask, "an unknown task must raise UnknownNameError"),
    ("budget", faulty.NeverTruncates, "not over after 1 turns"),
    ("budget", faulty.StepsAfterTheEnd, "step after the end must raise"),
    ("budget", faulty.TruncatesWhatItJudges, "success without is_terminated"),
    ("score-range", faulty.ScoresTwo, "score 2.0 outside (0.0, 1.0)"),
    ("score-range", faulty.RewardsNan, "reward is nan"),
    ("score-range", faulty.EarnsOnTheWay, "a reward of 0.25 before the end of the episode"),
    ("channels", faulty.LacksAPart, "the declared part 'solved' is missing among the channels []"),
    ("channels", faulty.HasPartsThatDoNotAddUp, "the parts {'solved': 0.5} add up to 0.5, but the reward is 1.0"),
    ("channels", faulty.HasAnUndeclaredChannel, "the channel 'heard' is not declared"),
    ("channels", faulty.DeclaresAPartAsAChannelToo, "meta.channels also matches the parts ['solved']"),
    ("admissible", faulty.Unsorted, "sorted and unique"),
    ("admissible", faulty.OffersWhatItRefuses, "admissible 'violet' is answered like nonsense"),
    ("oracle", faulty.LostOracle, "oracle 'reader' solved 0%, promised 100%"),
    ("constant-agent", faulty.WonByLooking, "always saying 'look' solves 100%"),
    ("random-agent", faulty.WonByChance, "acting at random solves"),
    ("hostile-text", faulty.RaisesOnNul, "raised ValueError: embedded null byte"),
    ("hostile-text", faulty.WonByClaiming, "it won"),
    ("replay", faulty.RemembersEpisodes, "text was 'Episode 1."),
    ("global-random-state", faulty.UsesRandom, "the state of `random` changed"),
    ("global-random-state", faulty.SeedsNumpy, "the state of `numpy.random` changed"),
    ("anchors", faulty.ForgetsInItsAnchor, "from one anchor gave different results"),
    ("anchors", faulty.HidesChanceBehindItsAnchor, "or declare is_deterministic=False"),
    ("anchors", faulty.HidesState, "reward 1.0 and 0.5. The histories are equal for 0 actions, then "),
    ("anchors", faulty.SharesAnchors, "share the anchor"),
    ("snapshot", faulty.ForgetsInItsSnapshot, "restore leads to another anchor"),
    ("snapshot", faulty.SnapshotsUnasked, "although meta.can_snapshot is False"),
    ("other-process", faulty.DependsOnHashSeed, "PYTHONHASHSEED=1, frame 0: text was"),
    ("leaks", faulty.LeaksMemory, "memory grew by"),
    ("leaks", faulty.LeaksFiles, "open files went from"),
    ("leaks", faulty.LeaksThreads, "threads went from"),
]
LEAKS = [fault for fault in FAULTS if fault[0] == "leaks"]
LEAK = sample(LEAKS)[0]  # of the default run: each takes two seconds


@pytest.mark.parametrize("name", PROPERTIES)
def test_every_property_holds_for_a_sound_environment(name: str) -> None:
    report = check_property(name, Subject("tests.envs.faulty:Sound"))
    assert report.holds, report.detail


@pytest.mark.parametrize("name", sampled_params(PROPERTIES, parts=2))
def test_holds_for_an_environment_of_one_turn_without_an_oracle(name: str) -> None:
    report = check_property(name, Subject("tests.envs.faulty:OneTurn"))
    assert report.holds, report.detail


@pytest.mark.parametrize("halves", [False, True])
def test_parts_and_channels_that_are_declared_hold(halves: bool) -> None:
    report = check_property("channels", Subject("tests.envs.faulty:Parted", config={"halves": halves}))
    assert report.holds, report.detail


def test_an_oracle_need_not_do_better_than_is_possible() -> None:
    report = check_property("oracle", Subject("tests.envs.faulty:Unsolvable"))
    assert report.holds, report.detail
    lost = check_property("oracle", Subject("tests.envs.faulty:SaysItCannotBeSolved"))
    assert not lost.holds
    assert "solved 72%" in lost.detail  # 18 of 64 episodes begin with amber: they score 0 of 0.5


@pytest.mark.parametrize(
    ("name", "fault", "says"),
    [
        pytest.param(*each, id=each[1].__name__, marks=pytest.mark.slow if each in LEAKS and each != LEAK else ())
        for each in FAULTS
    ],
)
def test_catches(name: str, fault: type[faulty.Sound], says: str) -> None:
    report = check_property(name, Subject(f"{fault.__module__}:{fault.__name__}"))
    assert not report.holds
    assert says in report.detail


def test_determinism_has_to_be_declared() -> None:
    fields: dict[str, Any] = {"name": "n", "version": 1, "turn_limit": 1, "reward_range": (0, 1), "summary": "s"}
    with pytest.raises(TypeError, match="'is_deterministic'"):
        EnvMeta(**fields)
    assert not EnvMeta(**fields, is_deterministic=False).is_deterministic


def test_an_environment_that_declares_chance_is_not_held_to_equal_futures() -> None:
    report = check_property("anchors", Subject("tests.envs.faulty:ToldThatItIsNotDeterministic"))
    assert (report.holds, report.detail) == (True, "not promised by this environment")


def test_every_property_has_a_fault_that_it_catches() -> None:
    assert {name for name, _, _ in FAULTS} == set(PROPERTIES)


def test_an_unknown_environment_is_an_error_and_not_a_violated_property() -> None:
    with pytest.raises(UnknownNameError, match="cairn envs list"):
        next(check("no-such-environment"))
