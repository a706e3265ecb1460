"""A table of questions as an environment, and a first training run on it: ``python examples/quiz.py``.

The demonstrations answer in four forms, such as "jade" and "the jade room". The training tasks accept the first one
only: the model learns the form from rewards.
"""

from __future__ import annotations

from pathlib import Path

import cairn

quiz = cairn.DataEnv(
    Path(__file__).with_name("questions.jsonl"),
    cairn.scorers.exact(),
    name="quiz",
    instruction="Answer with one word.",
)

if __name__ == "__main__":
    cairn.register("quiz", quiz)
    settings = {"env.id": "quiz", "imitation.oracle": "reference"}
    run = cairn.train(Path(__file__).with_name("small.toml"), settings)
    print(f"success on {run.final.tasks}: {run.final.success}")
