"""The six task types, their goals and their sentences."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, get_args

TaskType = Literal[
    "pick_and_place_simple",
    "look_at_obj_in_light",
    "pick_clean_then_place_in_recep",
    "pick_heat_then_place_in_recep",
    "pick_cool_then_place_in_recep",
    "pick_two_obj_and_place",
]
TASK_TYPES: tuple[TaskType, ...] = get_args(TaskType)

# Two sentences per task type; {o} is the object's kind, {r} the kind of the receptacle or, for "look", of the lamp.
SENTENCES: dict[TaskType, tuple[str, str]] = {
    "pick_and_place_simple": ("put a {o} in {r}", "put some {o} on {r}"),
    "look_at_obj_in_light": ("look at {o} under the {r}", "examine the {o} with the {r}"),
    "pick_clean_then_place_in_recep": ("put a clean {o} in {r}", "clean some {o} and put it in {r}"),
    "pick_heat_then_place_in_recep": ("put a hot {o} in {r}", "heat some {o} and put it in {r}"),
    "pick_cool_then_place_in_recep": ("put a cool {o} in {r}", "cool some {o} and put it in {r}"),
    "pick_two_obj_and_place": ("put two {o} in {r}", "find two {o} and put them in {r}"),
}

Treatment = Literal["clean", "heat", "cool"]
TREATMENTS: dict[TaskType, Treatment] = {
    "pick_clean_then_place_in_recep": "clean",
    "pick_heat_then_place_in_recep": "heat",
    "pick_cool_then_place_in_recep": "cool",
}
# Manipulation steps per task type: take the object, then put it or look at it; some treat it in between.
STAGES: Mapping[str, int] = {
    "pick_and_place_simple": 2,
    "look_at_obj_in_light": 2,
    "pick_clean_then_place_in_recep": 3,
    "pick_heat_then_place_in_recep": 3,
    "pick_cool_then_place_in_recep": 3,
    "pick_two_obj_and_place": 4,
}
# Receptacles that give each treatment.
STATIONS: dict[Treatment, tuple[str, ...]] = {
    "clean": ("sink", "sinkbasin"),
    "heat": ("microwave",),
    "cool": ("fridge",),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Goal:
    """The goal of a task; kinds are lower-case, as they are displayed."""

    task_type: TaskType
    object_kind: str
    place_kind: str  # kind of the receptacle to put it in; for "look", kind of the lamp

    @property
    def treatment(self) -> Treatment | None:
        """The treatment that the object needs first, or None."""
        return TREATMENTS.get(self.task_type)

    @property
    def is_look(self) -> bool:
        """Whether the task is to hold the object under a lit lamp."""
        return self.task_type == "look_at_obj_in_light"

    @property
    def count(self) -> int:
        """The number of objects that have to be in one receptacle."""
        return 2 if self.task_type == "pick_two_obj_and_place" else 1

    def sentence(self, wording: int) -> str:
        """Return the task's line in wording 0 or 1, e.g. "Your task is to: put a mug in desk."."""
        text = SENTENCES[self.task_type][wording].format(o=self.object_kind, r=self.place_kind)
        return f"Your task is to: {text}."
