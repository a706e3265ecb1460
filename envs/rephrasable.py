"""A mixin for environments with paraphrases, renamed commands or shuffled lists.

The perturbations `paraphrase`, `rename` and `shuffle` call these methods (see `envs.perturbations`). An environment
that supports them subclasses `Rephrasable` and `TextEnv`, and overrides the methods that apply. They do not change
`state()`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence


class Rephrasable:
    """Methods that perturbations call; the defaults support no change."""

    choose_instruction: Callable[[str, Sequence[str]], str] | None = None  # (task id, paraphrases) -> one of them

    def phrase_instruction(self, task_id: str, original: str, paraphrases: Callable[[], Sequence[str]]) -> str:
        """Return a task's instruction: `original`, or a paraphrase if a perturbation requests one.

        An environment that calls this in `start` declares ``meta.can_reword``. Paraphrases keep every name, number and
        constraint; an empty sequence means that the task has no paraphrase.
        """
        return original if self.choose_instruction is None else self.choose_instruction(task_id, paraphrases())

    def command_names(self) -> Mapping[str, tuple[str, ...]]:
        """Return each command name, with alternatives that `act` does not know."""
        return {}

    def rename_commands(self, text: str, rename: Callable[[str], str]) -> str:
        """Return the last text, with `rename` applied to each passage about commands."""
        return text

    def shuffle_lists(self, text: str, shuffle: Callable[[list[str]], list[str]]) -> str:
        """Return the last text, with `shuffle` applied to each list without a meaningful order."""
        return text
