"""The shared part of chat contexts: instructions, reply format and memory of a conversation.

It is generic in the type of a stored reply.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Generic, TypeVar

from pydantic import Field, field_validator, model_validator

from cairn.agents.forms.base import ReplyForm
from cairn.agents.memory import MemoryConfig, task_in
from cairn.agents.prompts import load_prompt
from cairn.core.errors import CairnError
from cairn.core.plugins import FORMS
from cairn.core.records import Observation

R = TypeVar("R")  # type of a stored reply


class ConversationConfig(MemoryConfig):
    """The instructions, the reply format and the memory of a conversation."""

    format: str = Field("plain", description="Reply form: plain, tagged, react, code, or one of yours.")
    system: str | None = Field(None, description="System message; None: none, or that of `system_file`.")
    system_file: str | None = Field(
        None, description="Name of a system message in configs/prompts/systems, or path of a text file."
    )
    instruction: str | None = Field(
        None, description="Stands above the first observation. None: that of `instruction_file`."
    )
    instruction_file: str | None = Field(
        None, description="Name in configs/prompts/forms, or path of a text file. None: the default of the form."
    )
    list_actions: bool = Field(False, description="Admissible actions stand below each observation.")

    @field_validator("format")
    @classmethod
    def _check_format(cls, name: str) -> str:
        if name not in (known := cls.formats()):
            raise ValueError(f"expected one of {', '.join(known)}")
        return name

    @model_validator(mode="after")
    def _check_prompts(self) -> ConversationConfig:
        for name in ("system", "instruction"):
            if getattr(self, name) is not None and getattr(self, f"{name}_file") is not None:
                raise ValueError(f"{name} and {name}_file are both set; leave one of the two out")
        try:
            self.prompts()
        except CairnError as error:  # pydantic adds the setting's name to the message
            raise ValueError(str(error)) from error
        return self

    @classmethod
    def formats(cls) -> list[str]:
        """Return the available reply forms."""
        return FORMS.ids()

    def prompts(self) -> dict[str, str]:
        """Return the fixed prompt texts of every episode, by setting."""
        return (
            {"instruction": self.instruction_text}
            if self.system_text is None
            else {"system": self.system_text, "instruction": self.instruction_text}
        )

    @cached_property
    def system_text(self) -> str | None:
        """The system message."""
        return self.system if self.system_file is None else load_prompt("systems", self.system_file)

    @cached_property
    def instruction_text(self) -> str:
        """The instruction above the first observation."""
        return (
            load_prompt("forms", self.instruction_file or self.format) if self.instruction is None else self.instruction
        )


@dataclass(frozen=True, slots=True)
class TurnContent:
    """The content of the message for one turn."""

    text: str
    results: tuple[str, ...] = ()  # one per call, if the last action was a list of calls; `text` has them all


class Conversation(Generic[R]):
    """The part of one episode's conversation that is still shown."""

    def __init__(self, config: ConversationConfig) -> None:
        self._config = config
        self._first: str | None = None  # the first observation
        self._error = ""  # error of the previous reply
        self._summary = ""  # of the turns left out
        self.turns: list[tuple[TurnContent, R]] = []  # shown turns: content and reply
        self.num_left_out = 0
        self.starts_anew = True

    def add(self, observation: Observation, reply: R, error: str = "") -> None:
        """Record a turn and the error of its reply; hide the oldest turns if the window is full."""
        if self._first is None:
            self._first = observation.text
        self.turns.append((self.message(observation), reply))
        self._error = error
        kept = self._config.kept
        self.starts_anew = kept is not None and len(self.turns) >= kept + self._config.stride
        if kept is not None and self.starts_anew and self._config.policy != "summary":
            self._leave_out(kept)

    def message(self, observation: Observation) -> TurnContent:
        """Return the content for an observation, with the error of the previous reply above it."""
        wrong = f"[Your answer was not valid: {self._error}.]\n\n" if self._error else ""
        below = ""
        if self._config.list_actions and observation.admissible:
            below = "\n".join(["\n", "Possible actions:", *observation.admissible])
        results = observation.results
        return TurnContent(
            f"{wrong}{observation.text}{below}", (*results[:-1], f"{results[-1]}{below}") if results else ()
        )

    def opening(self, message: str, instruction: str | None = None) -> str:
        """Return the first message: instruction, text for hidden turns, `message`.

        With `instruction` None, the configured one is used.
        """
        text = self._config.instruction_text if instruction is None else instruction
        return "\n\n".join((*filter(None, (text, *self._before())), message))

    def summarise(self, summary: str) -> None:
        """Replace the oldest turns, and an earlier summary, by a summary of them."""
        self._summary = summary.strip()
        self._leave_out(self._config.kept or 0)

    def oldest(self) -> list[tuple[TurnContent, R]]:
        """Return the turns that the next summary replaces."""
        return self.turns[: max(0, len(self.turns) - (self._config.kept or 0))]

    def _before(self) -> list[str]:
        """Return the texts that replace the hidden turns."""
        if not self.num_left_out:
            return []
        task, remind = self._first or "", self._config.remind
        if remind is not None:
            task = f"{remind.strip()} {task_in(task, remind, 'agent.context, remind')}"
        if self._config.policy == "markovian":  # without the number of hidden turns
            return [task]
        if self._summary:
            return [task, f"Your summary of the {self.num_left_out} turns before:\n{self._summary}"]
        return [task, f"({self.num_left_out} turns are not shown.)"]

    def before(self) -> str:
        """Return the text that replaces the hidden turns; "" if no turn is hidden."""
        return "\n\n".join(self._before())

    def _leave_out(self, kept: int) -> None:
        count = len(self.turns) - kept
        self.num_left_out += count
        del self.turns[:count]


def form_of(config: ConversationConfig) -> ReplyForm:
    """Return the configured reply form."""
    form: ReplyForm = FORMS.build(config.format, {})
    return form
