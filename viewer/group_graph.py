"""A group's trajectory graph under two credit methods, with texts of its states and actions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from cairn.core.errors import CairnError
from cairn.core.store import RunStore
from cairn.core.store.read import episodes as read_episodes
from cairn.core.table import Floats
from cairn.trainer.credit.trajectory_graph import trajectory_graph
from cairn.trainer.stored_credit import StoredStep
from cairn.viewer.credited import StoredUpdate
from cairn.viewer.graph_view import GraphPicture, picture

_LABEL_EDGES = 40


@dataclass(frozen=True, slots=True, kw_only=True)
class Labelled:
    """The texts of a picture."""

    states: tuple[str, ...]  # by node
    actions: tuple[str, ...]  # by edge


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupGraph:
    """A group's picture with its texts and advantages."""

    drawn: GraphPicture
    words: Labelled
    steps: Sequence[StoredStep]
    own: Floats  # advantages under the first method, by step
    other: Floats

    @property
    def has_labels(self) -> bool:
        """Whether edges show their actions; larger graphs show them in tooltips and tables only."""
        return len(self.drawn.edges) <= _LABEL_EDGES


def group_graph(
    store: RunStore, update: StoredUpdate, place: tuple[str, int, int], first: str, second: str
) -> GroupGraph:
    """Return the graph of the group at `place`: phase, step and number.

    Raises:
        CairnError: it has no scored episode, or a method cannot be computed on the stored data.
    """
    rows = _rows(store, update, *place)
    own, other = update.credit(first)[rows], update.credit(second)[rows]
    steps = [update.places[i] for i in range(rows.start, rows.stop)]
    drawn = picture(trajectory_graph(update.table, int(update.table.group[rows.start])), own, other)
    words = Labelled(states=_states(store, drawn, steps), actions=_actions(drawn, steps))
    return GroupGraph(drawn=drawn, words=words, steps=steps, own=own, other=other)


def _rows(store: RunStore, update: StoredUpdate, phase: str, step: int, group: int) -> slice:
    """Return the table's rows of a group."""
    ids = {episode.id for episode in read_episodes(store, phase=phase, step=step, group=group)}
    at = [i for i, place in enumerate(update.places) if place.episode in ids]
    if not at:
        raise CairnError(f"Group {group} of step {step} has no episode that could be scored")
    return slice(at[0], at[-1] + 1)


def _states(store: RunStore, drawn: GraphPicture, steps: Sequence[StoredStep]) -> tuple[str, ...]:
    """Return the text of each node: a state's first observation, or a description of the node."""
    seen: dict[int, tuple[int, int]] = {}
    for edge in drawn.edges:
        at = steps[edge.steps[0]]
        seen.setdefault(edge.tail, (at.episode, at.turn))
        seen.setdefault(edge.head, (at.episode, at.turn + 1))
    wanted = {seen[i][0] for i, node in enumerate(drawn.nodes) if node.key is not None and i in seen}
    bodies = {episode: store.body(episode) for episode in wanted}
    texts = []
    for i, node in enumerate(drawn.nodes):
        body = bodies.get(seen[i][0]) if i in seen else None
        if node.merged > 1:
            texts.append(f"{node.merged} states seen least")
        elif node.key is None:
            texts.append(node.kind)
        elif body is None:
            texts.append(f"{node.key:016x}")
        else:
            shown = [*body.observations, body.final or ""]
            texts.append(shown[seen[i][1]] or f"{node.key:016x}")
    return tuple(texts)


def _actions(drawn: GraphPicture, steps: Sequence[StoredStep]) -> tuple[str, ...]:
    return tuple(
        steps[edge.steps[0]].action if edge.action is not None else f"{len(edge.steps)} steps" for edge in drawn.edges
    )
