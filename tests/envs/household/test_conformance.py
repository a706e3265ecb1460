"""Transcripts of the original engine: every text, score, ending and admissible list has to be the same."""

from __future__ import annotations

import gzip
import json

import pytest

from cairn.envs.household.env import HouseholdEnv
from tests.envs.household import tiny


@pytest.mark.parametrize(
    ("reference", "split", "games"), [("ref_valid_seen", "valid_seen", 140), ("ref_train40", "train", 40)]
)
@pytest.mark.parametrize("episode", ["walkthrough", "random"])
def test_transcripts_of_the_original_are_reproduced(reference: str, split: str, games: int, episode: str) -> None:
    path = tiny.data_folder() / f"{reference}.jsonl.gz"
    env = HouseholdEnv(split=split)
    with gzip.open(path, "rt") as file:
        rows = [json.loads(line) for line in file]
    assert len(rows) == games
    for row in rows:
        text, info = env.reset(options={"task": row["game"]})
        assert text == row["intro"]
        assert list(info["admissible_actions"]) == row["intro_admissible"]
        for number, step in enumerate(row[episode]):
            text, reward, terminated, _, info = env.step(step["a"])
            where = (row["game"], episode, number, step["a"])
            assert text == step["obs"], where
            assert (info["score"], reward) == (step["score"], step["score"]), where
            assert (terminated, info["success"]) == (step["done"], step["won"]), where
            assert list(info["admissible_actions"]) == step["adm"], where
