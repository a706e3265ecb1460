"""A mixin for environments whose instructions, command names and lists can change without a change of meaning.

The perturbations `paraphrase`, `rename` and `shuffle` call these methods (see `envs.perturbations`). An environment
that supports them subclasses `Rephrasable` and `TextEnv`, and overrides the methods that apply. They do not change
`state()`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence


class Rephrasable:
    """Methods that perturbations call; by default nothing can be changed."""

    choose_instruction: Callable[[str, Sequence[str]], str] | None = None  # (task id, paraphrases) -> one of them

    def phrase_instruction(self, task_id: str, original: str, paraphrases: Callable[[], Sequence[str]]) -> str:
        """Return a task's instruction: `original`, or a paraphrase where a perturbation asks for one.

        An environment that calls this in `start` declares ``meta.can_reword``. Paraphrases keep every name, number and
        constraint; an empty sequence means that this task has none.
        """
        return original if self.choose_instruction is None else self.choose_instruction(task_id, paraphrases())

    def command_names(self) -> Mapping[str, tuple[str, ...]]:
        """Return each name that an action may begin with, and alternatives that mean nothing to `act`."""
        return {}

    def rename_commands(self, text: str, rename: Callable[[str], str]) -> str:
        """Return the text that was just shown, with `rename` applied to each passage that mentions commands."""
        return text

    def shuffle_lists(self, text: str, shuffle: Callable[[list[str]], list[str]]) -> str:
        """Return the text that was just shown, with `shuffle` applied to each list whose order has no meaning."""
        return text
