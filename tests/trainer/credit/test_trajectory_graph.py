"""The trajectory graph of a house with a loop, a dead end, a divergence, cut states and an open end; its properties.

Episodes (the table's numbers), WIN and LOSE for their ends::

    0   hall go kitchen, kitchen back hall, hall go kitchen, kitchen open door, door exit WIN
    1   hall go kitchen, kitchen open door, door fall cellar, cellar wait LOSE
    2   hall go kitchen, kitchen down cellar, cellar wait LOSE
    3   hall up attic, attic out roof           a budget ended it on the roof, where nobody else was
"""

from __future__ import annotations

import io
import re
import time
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from typing import Any

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cairn.core.errors import CairnError
from cairn.core.keys import text_key
from cairn.core.table import StepTable
from cairn.trainer.credit.trajectory_graph import Edge, Loop, Node, TrajectoryGraph, trajectory_graph

Life = tuple[int, list[tuple[int, int]], int, bool, bool]  # group, steps, where it stops, success, truncated
Told = tuple[Sequence[tuple[str, str]], str, bool, bool]  # steps (state, action), last state, success, truncated

HOUSE: list[Told] = [
    ([("hall", "go"), ("kitchen", "back"), ("hall", "go"), ("kitchen", "open"), ("door", "exit")], "", True, False),
    ([("hall", "go"), ("kitchen", "open"), ("door", "fall"), ("cellar", "wait")], "", False, False),
    ([("hall", "go"), ("kitchen", "down"), ("cellar", "wait")], "", False, False),
    ([("hall", "up"), ("attic", "out")], "roof", False, True),
]
WORDS = ("hall", "kitchen", "door", "cellar", "attic", "roof", "go", "back", "open", "exit", "fall", "wait", "down",
         "up", "out")  # fmt: skip
LABELS = {text_key(word): word for word in WORDS}


def reported(
    *episodes: Told, groups: Sequence[int] | None = None, **over: Any
) -> StepTable:  # Any: columns of all types
    rows = [(e, t) for e, (steps, *_) in enumerate(episodes) for t in range(len(steps))]
    states = [[state for state, _ in steps] + [last] for steps, last, _, _ in episodes]
    columns: dict[str, Any] = {
        "group": [0 if groups is None else groups[e] for e, _ in rows],
        "episode": [e for e, _ in rows],
        "turn": [t for _, t in rows],
        "anchor": [text_key(states[e][t]) for e, t in rows],
        "next_anchor": [text_key(states[e][t + 1]) for e, t in rows],
        "action": [text_key(episodes[e][0][t][1]) for e, t in rows],
        "reward": [0.0 for _ in rows],
        "success": [episodes[e][2] for e, _ in rows],
        "truncated": [episodes[e][3] for e, _ in rows],
    }
    return StepTable.from_columns(**columns | over)


@pytest.fixture
def house() -> TrajectoryGraph:
    return trajectory_graph(reported(*HOUSE), labels=LABELS)


def node(graph: TrajectoryGraph, label: str) -> Node:
    (found,) = [node for node in graph.nodes if node.label == label]
    return found


def edge(graph: TrajectoryGraph, tail: str, action: str, head: str) -> Edge:
    (found,) = [e for e in graph.edges if (e.tail.label, e.label, e.head.label) == (tail, action, head)]
    return found


def names(nodes: Sequence[Node]) -> list[str]:
    return [node.label for node in nodes]


def test_the_nodes_are_the_states_the_open_end_and_the_two_ends(house: TrajectoryGraph) -> None:
    assert {n.label: n.kind for n in house.nodes} == {
        "hall": "state", "kitchen": "state", "door": "state", "cellar": "state", "attic": "state", "roof": "open",
        "success": "success", "failure": "failure",
    }  # fmt: skip
    assert [n.id for n in house.nodes] == list(range(8))
    assert names(house.ends) == ["success", "failure"]
    assert [n.key for n in house.ends] == [None, None]
    assert node(house, "door").key == text_key("door")
    assert names(house.starts) == ["hall"]


def test_the_edges_have_their_occurrences(house: TrajectoryGraph) -> None:
    assert {(e.tail.label, e.label, e.head.label): e.occurrences for e in house.edges} == {
        ("hall", "go", "kitchen"): ((0, 0), (0, 2), (1, 0), (2, 0)),
        ("hall", "up", "attic"): ((3, 0),),
        ("kitchen", "back", "hall"): ((0, 1),),
        ("kitchen", "open", "door"): ((0, 3), (1, 1)),
        ("kitchen", "down", "cellar"): ((2, 1),),
        ("door", "exit", "success"): ((0, 4),),
        ("door", "fall", "cellar"): ((1, 2),),
        ("cellar", "wait", "failure"): ((1, 3), (2, 2)),
        ("attic", "out", "roof"): ((3, 1),),
    }


def test_visits_count_every_time(house: TrajectoryGraph) -> None:
    # 14 steps and 4 places where an episode stopped: 18
    assert {n.label: house.visits(n) for n in house.nodes} == {
        "hall": 5, "kitchen": 4, "door": 2, "cellar": 2, "attic": 1, "roof": 1, "success": 1, "failure": 2,
    }  # fmt: skip
    assert house.visits(edge(house, "hall", "go", "kitchen")) == 4


def test_success_rates_count_an_episode_once(house: TrajectoryGraph) -> None:
    # hall: episodes 0 1 2 3, of which 0 succeeds, though it was there twice; kitchen: 0 1 2; door: 0 1
    assert {n.label: house.success_rate(n) for n in house.nodes} == {
        "hall": 1 / 4, "kitchen": 1 / 3, "door": 1 / 2, "cellar": 0, "attic": 0, "roof": 0, "success": 1, "failure": 0,
    }  # fmt: skip
    assert house.success_rate(edge(house, "hall", "go", "kitchen")) == 1 / 3  # four times, three episodes
    assert house.success_rate(edge(house, "kitchen", "open", "door")) == 1 / 2
    assert house.success_rate(edge(house, "kitchen", "back", "hall")) == 1


def test_divergence_points_are_ordered_by_spread_then_by_visits(house: TrajectoryGraph) -> None:
    # kitchen: back 1, open 1/2, down 0; door: exit 1, fall 0, fewer visits; hall: go 1/3, up 0
    found = house.divergence_points()
    assert [(at.node.label, at.spread, [e.label for e in at.edges]) for at in found] == [
        ("kitchen", 1.0, ["back", "open", "down"]),
        ("door", 1.0, ["exit", "fall"]),
        ("hall", 1 / 3, ["go", "up"]),
    ]


def test_episodes_of_one_outcome_make_no_divergence_however_they_leave() -> None:
    assert trajectory_graph(reported(HOUSE[1], HOUSE[2])).divergence_points() == ()
    assert trajectory_graph(reported(HOUSE[0])).divergence_points() == ()  # kitchen: back, then open, in one episode


def test_one_edge_with_both_outcomes_is_not_a_divergence() -> None:
    episodes: list[Told] = [([("hall", "go"), ("door", "exit")], "", won, False) for won in (True, False)]
    found = trajectory_graph(reported(*episodes), labels=LABELS).divergence_points()
    assert [at.node.label for at in found] == ["door"]


def test_edges_that_saw_both_outcomes_equally_often_diverge_by_nothing() -> None:
    episodes: list[Told] = [
        ([("hall", way), (room, "exit")], "", won, False)
        for way, room in (("go", "kitchen"), ("up", "attic"))
        for won in (True, False)
    ]
    found = trajectory_graph(reported(*episodes), labels=LABELS).divergence_points()
    assert [(at.node.label, at.spread) for at in found[-1:]] == [("hall", 0.0)]


def test_loops_name_every_turn_in_the_state(house: TrajectoryGraph) -> None:
    assert house.loops() == (
        Loop(node=node(house, "hall"), episode=0, turns=(0, 2)),
        Loop(node=node(house, "kitchen"), episode=0, turns=(1, 3)),
    )


def test_a_budget_that_ends_an_episode_where_it_had_been_makes_a_loop() -> None:
    graph = trajectory_graph(reported(([("hall", "go"), ("kitchen", "back")], "hall", False, True)), labels=LABELS)
    assert graph.loops() == (Loop(node=node(graph, "hall"), episode=0, turns=(0, 2)),)
    assert names(graph.nodes) == [*sorted(["hall", "kitchen"], key=text_key), "success", "failure"]  # no open end
    assert graph.visits(node(graph, "hall")) == 2


def test_dead_ends_are_the_states_from_which_no_success_was_reached(house: TrajectoryGraph) -> None:
    assert sorted(names(house.dead_ends())) == ["attic", "cellar", "roof"]


def test_a_path_through_two_episodes_keeps_a_state_from_being_a_dead_end() -> None:
    # The second episode lost, but the first shows how to continue from its last state, the door.
    episodes: list[Told] = [
        ([("door", "exit")], "", True, False),
        ([("hall", "go"), ("door", "fall"), ("cellar", "wait")], "", False, False),
    ]
    graph = trajectory_graph(reported(*episodes), labels=LABELS)
    assert names(graph.dead_ends()) == ["cellar"]
    path = graph.shortest_success(node(graph, "hall"))
    assert path is not None
    assert [e.label for e in path] == ["go", "exit"]


def test_the_shortest_success_leaves_loops_out(house: TrajectoryGraph) -> None:
    path = house.shortest_success(node(house, "hall"))
    assert path is not None
    assert [(e.tail.label, e.label) for e in path] == [("hall", "go"), ("kitchen", "open"), ("door", "exit")]
    assert house.shortest_success(node(house, "attic")) is None
    assert house.shortest_success(house.ends[0]) == ()
    assert house.shortest_success(house.ends[1]) is None


def test_of_two_actions_between_the_same_states_the_shortest_success_takes_the_more_visited() -> None:
    episodes: list[Told] = [([("hall", way), ("door", "exit")], "", True, False) for way in ("go", "up", "up")]
    graph = trajectory_graph(reported(*episodes), labels=LABELS)
    path = graph.shortest_success(node(graph, "hall"))
    assert path is not None
    assert [e.label for e in path] == ["up", "exit"]


def test_cut_states_are_in_the_order_of_passing(house: TrajectoryGraph) -> None:
    assert names(house.cut_states()) == ["hall", "kitchen", "door"]


def test_a_way_round_takes_a_cut_state_away() -> None:
    round_: Told = ([("hall", "up"), ("door", "exit")], "", False, False)  # lost, but it shows a way to the door
    assert names(trajectory_graph(reported(*HOUSE, round_), labels=LABELS).cut_states()) == ["hall", "door"]


def test_of_two_starts_neither_is_a_cut_state() -> None:
    other: Told = ([("cellar", "up"), ("door", "exit")], "", True, False)
    assert names(trajectory_graph(reported(HOUSE[0], other), labels=LABELS).cut_states()) == ["door"]


def test_without_success_nothing_is_a_cut_state_and_everything_a_dead_end() -> None:
    graph = trajectory_graph(reported(HOUSE[1]), labels=LABELS)
    assert graph.cut_states() == ()
    assert sorted(names(graph.dead_ends())) == ["cellar", "door", "hall", "kitchen"]
    assert graph.divergence_points() == ()
    assert graph.shortest_success(node(graph, "hall")) is None
    assert graph.visits(graph.ends[0]) == 0
    assert graph.success_rate(graph.ends[0]) == 1


def test_a_success_that_a_budget_ended_leads_to_the_success_end() -> None:
    graph = trajectory_graph(reported(([("hall", "go")], "roof", True, True)), labels=LABELS)
    assert names(graph.nodes) == ["hall", "success", "failure"]
    assert edge(graph, "hall", "go", "success").occurrences == ((0, 0),)


def test_an_action_that_led_to_two_states_is_two_edges() -> None:
    episodes: list[Told] = [([("hall", "go"), (room, "wait")], "", False, False) for room in ("attic", "cellar")]
    graph = trajectory_graph(reported(*episodes), labels=LABELS)
    found = graph.edges_from(node(graph, "hall"))
    assert sorted(e.head.label for e in found) == ["attic", "cellar"]
    assert graph.edges_from(graph.ends[1]) == ()


def test_a_group_is_shown_alone_under_the_tables_numbers() -> None:
    table = reported(*HOUSE[:2], *HOUSE[:2], groups=[4, 4, 9, 9])
    one, two = trajectory_graph(table, 0), trajectory_graph(table, 1)
    assert {e for x in one.edges for e, _ in x.occurrences} == {0, 1}
    assert {e for x in two.edges for e, _ in x.occurrences} == {2, 3}
    assert one.nodes == two.nodes
    assert {loop.episode for loop in two.loops()} == {2}
    assert two.steps.episode.tolist() == one.steps.episode.tolist()


@pytest.mark.parametrize("group", [-1, 1, 5])
def test_a_group_that_is_not_there_is_refused(group: int) -> None:
    with pytest.raises(CairnError, match=f"expected a group below 1, got {group}"):
        trajectory_graph(reported(*HOUSE), group)


def test_a_key_that_is_not_there_is_refused() -> None:
    with pytest.raises(CairnError, match="Unknown state key 'smell'"):
        trajectory_graph(reported(*HOUSE), key="smell")


def test_another_key_makes_other_states_and_an_open_end_for_each_stopped_episode() -> None:
    stopped: Told = ([("hall", "up"), ("attic", "out")], "roof", False, True)
    graph = trajectory_graph(reported(*HOUSE, stopped), key="turn")
    states = {n.key: graph.visits(n) for n in graph.nodes if n.kind == "state"}
    assert states == {0: 5, 1: 5, 2: 3, 3: 2, 4: 1}  # episodes of 5, 4, 3, 2 and 2 steps
    assert [graph.visits(n) for n in graph.nodes if n.kind == "open"] == [1, 1]


def test_a_state_is_found_by_its_key(house: TrajectoryGraph) -> None:
    assert house.state(text_key("cellar")) == node(house, "cellar")
    for strange in (text_key("bath"), -1, 1 << 64, (1 << 64) - 1, 0):
        with pytest.raises(CairnError, match="no episode of the group was in a state"):
            house.state(strange)


def test_a_part_of_another_graph_is_refused(house: TrajectoryGraph) -> None:
    other = trajectory_graph(reported(HOUSE[1]), labels=LABELS)
    for part in (other.ends[0], other.edges[0]):
        with pytest.raises(CairnError, match="of this graph"):
            house.visits(part)


def test_labels_default_to_hex_digits() -> None:
    graph = trajectory_graph(reported(HOUSE[3], anchor=[1, 255], next_anchor=[255, 7], action=[16, 1 << 63]))
    assert names(graph.nodes) == [f"{1:016x}", f"{7:016x}", "00000000000000ff", "success", "failure"]
    assert [e.label for e in graph.edges] == ["0000000000000010", "8000000000000000"]


HOSTILE = [
    'say "hi"; 1 -> 2', "two\nlines", "back\\slash\\", "\\N \\G \\l", "<b>bold</b>", "&lt;b&gt; &amp; &#34;", "]]>",
    "bell\x07 null\x00 esc\x1b[2J", "\ud800 lone", "\u202e turned", "\r\n", "", '"', "\\", '\\"', "/* x */ // y # z",
    "\ufffe\uffff", "emoji \U0001f600", "<!-- -->", "x" * 5000, "\x85\u2028\x7f",
]  # fmt: skip


def shown(label: str) -> str:
    """The expected text of a label: the specification again, in other words."""
    return "".join(c if c == "\n" or c == " " or c.isprintable() else "\\x" + format(ord(c), "02x") for c in label)


def hostile(labels: Sequence[str]) -> TrajectoryGraph:
    """Return a chain of states and actions with these labels."""
    n = len(labels)
    table = reported(([(f"s{i}", f"a{i}") for i in range(n)], "", True, False))
    named = {text_key(f"{kind}{i}"): label for kind in "sa" for i, label in enumerate(labels)}
    return trajectory_graph(table, labels=named)


def statements(dot: str) -> Iterator[tuple[str, str]]:
    """Yield the text before each label, and the label as Graphviz would show it; fail on anything else."""
    lines = dot.split("\n")
    assert lines[:2] == ["digraph trajectories {", "  rankdir=LR;"]
    assert lines[-2:] == ["}", ""]
    for line in lines[2:-2]:
        found = re.fullmatch(
            r'  (\d+ \[shape=[a-z]+(?:, style=dashed)?, |\d+ -> \d+ \[)label="((?:[^"\\]|\\.)*)"\];', line
        )
        assert found, line
        text = re.sub(r"\\(.)", lambda x: {"n": "\n", "\\": "\\", '"': '"'}[x[1]], found[2])
        assert set(re.findall(r"&[^;]*;?", text)) <= {"&amp;"}
        yield found[1], text.replace("&amp;", "&")


def check_exports(graph: TrajectoryGraph) -> None:
    drawn = list(statements(graph.to_dot()))
    assert len(drawn) == len(graph.nodes) + len(graph.edges)
    parts: list[Node | Edge] = [*graph.nodes, *graph.edges]
    for (_, text), part in zip(drawn, parts, strict=True):
        assert text == f"{shown(part.label)}\nvisits {graph.visits(part)}, success {graph.success_rate(part):.2f}"
    graph.to_dot().encode()  # no lone surrogate
    file = io.BytesIO()
    nx.write_graphml(graph.to_networkx(), file)
    back = nx.parse_graphml(file.getvalue().decode(), node_type=int, force_multigraph=True)
    assert {i: data["label"] for i, data in back.nodes(data=True)} == {n.id: shown(n.label) for n in graph.nodes}
    labels = Counter((tail, head, data["label"]) for tail, head, data in back.edges(data=True))
    assert labels == Counter((e.tail.id, e.head.id, shown(e.label)) for e in graph.edges)


def test_hostile_labels_are_shown_as_text() -> None:
    check_exports(hostile(HOSTILE))


@settings(max_examples=60, deadline=None)
@given(st.lists(st.text(st.characters(exclude_categories=()), max_size=12), min_size=1, max_size=4))
def test_any_label_is_shown_as_text(labels: list[str]) -> None:
    check_exports(hostile(labels))


def test_dot_draws_each_kind_of_node_differently(house: TrajectoryGraph) -> None:
    found = dict(statements(house.to_dot()))
    assert found[f"{node(house, 'roof').id} [shape=box, style=dashed, "] == "roof\nvisits 1, success 0.00"
    assert found[f"{node(house, 'hall').id} [shape=box, "] == "hall\nvisits 5, success 0.25"
    assert found[f"{house.ends[0].id} [shape=doublecircle, "] == "success\nvisits 1, success 1.00"
    assert found[f"{house.ends[1].id} [shape=octagon, "] == "failure\nvisits 2, success 0.00"
    ends = f"{node(house, 'kitchen').id} -> {node(house, 'door').id} ["
    assert found[ends] == "open\nvisits 2, success 0.50"


def test_networkx_gets_every_attribute_and_graphml_keeps_it(house: TrajectoryGraph) -> None:
    graph = house.to_networkx()
    hall, kitchen, success = (node(house, label) for label in ("hall", "kitchen", "success"))
    assert graph.nodes[hall.id] == {
        "key": f"{text_key('hall'):016x}", "label": "hall", "kind": "state", "visits": 5, "success_rate": 0.25,
    }  # fmt: skip
    assert graph.nodes[success.id] == {
        "key": "", "label": "success", "kind": "success", "visits": 1, "success_rate": 1.0,
    }  # fmt: skip
    (go,) = graph[hall.id][kitchen.id].values()
    assert go == {
        "action": f"{text_key('go'):016x}", "label": "go", "visits": 4, "success_rate": 1 / 3,
        "occurrences": "0:0 0:2 1:0 2:0",
    }  # fmt: skip
    file = io.BytesIO()
    nx.write_graphml(graph, file)
    back = nx.parse_graphml(file.getvalue().decode(), node_type=int, force_multigraph=True)
    assert {i: back.nodes[i] for i in back} == {i: graph.nodes[i] for i in graph}
    assert list(back[hall.id][kitchen.id].values()) == [go]


states = st.integers(0, 5)
lives = st.lists(
    st.tuples(
        st.integers(0, 1),  # group
        st.lists(st.tuples(states, st.integers(0, 1)), min_size=1, max_size=7),
        states,  # where it stops
        st.booleans(),  # success
        st.booleans(),  # truncated
    ),
    min_size=1,
    max_size=7,
)


def lived(episodes: list[Life]) -> list[tuple[TrajectoryGraph, list[Told]]]:
    """Return the graph of each group with its episodes in the table's order."""
    groups = sorted({group for group, *_ in episodes})
    sorted_ = [life for group in groups for life in episodes if life[0] == group]
    as_told: list[Told] = [
        ([(f"s{s}", f"a{a}") for s, a in steps], f"s{last}", won, cut) for _, steps, last, won, cut in sorted_
    ]
    table = reported(*as_told, groups=[group for group, *_ in sorted_])
    labels = {text_key(f"{kind}{i}"): f"{kind}{i}" for kind in "sa" for i in range(6)}
    return [
        (
            trajectory_graph(table, i, labels=labels),
            [t for t, life in zip(as_told, sorted_, strict=True) if life[0] == group],
        )
        for i, group in enumerate(groups)
    ]


def paths(episodes: list[Told], first: int) -> list[tuple[int, list[str], bool]]:
    """Return number, labels of all nodes passed, and success of each episode: the definition, step by step."""
    out = []
    for e, (steps, last, won, cut) in enumerate(episodes, first):
        end = "success" if won else last if cut else "failure"
        out.append((e, [state for state, _ in steps] + [end], won))
    return out


def share(found: dict[int, bool]) -> float:
    return sum(found.values()) / len(found)


@settings(max_examples=150, deadline=None)
@given(lives)
def test_visits_and_occurrences_add_up(episodes: list[Life]) -> None:
    first = 0
    for graph, own in lived(episodes):
        walked = paths(own, first)
        num_steps = sum(len(steps) for steps, *_ in own)
        assert sum(graph.visits(n) for n in graph.nodes) == num_steps + len(own)
        assert sum(graph.visits(e) for e in graph.edges) == num_steps
        seen = [(e.tail.label, e.label, e.head.label, *o) for e in graph.edges for o in e.occurrences]
        assert sorted(seen) == sorted(
            (way[t], own[e - first][0][t][1], way[t + 1], e, t) for e, way, _ in walked for t in range(len(way) - 1)
        )
        begun, stopped = Counter(way[0] for _, way, _ in walked), Counter(way[-1] for _, way, _ in walked)
        assert {n.label for n in graph.nodes} == {"success", "failure"} | {
            label for _, way, _ in walked for label in way
        }
        for n in graph.nodes:
            out, into = graph.edges_from(n), [e for e in graph.edges if e.head == n]
            assert graph.visits(n) == sum(graph.visits(e) for e in out) + stopped[n.label]
            assert graph.visits(n) == sum(graph.visits(e) for e in into) + begun[n.label]
            assert (n.kind == "open") == (not out and n not in graph.ends)
            through = {e: won for e, way, won in walked if n.label in way}
            assert graph.success_rate(n) == (share(through) if through else n.kind == "success")
        for edge in graph.edges:
            assert graph.success_rate(edge) == share({e: own[e - first][2] for e, _ in edge.occurrences})
        first += len(own)


@settings(max_examples=150, deadline=None)
@given(lives)
def test_every_answer_is_that_of_its_definition(episodes: list[Life]) -> None:
    first = 0
    for graph, own in lived(episodes):
        walked = paths(own, first)
        turns: dict[tuple[int, str], list[int]] = defaultdict(list)
        for e, way, _ in walked:
            for t, label in enumerate(way):
                turns[e, label].append(t)
        assert [(loop.episode, loop.node.label, list(loop.turns)) for loop in graph.loops()] == sorted(
            ((e, label, of) for (e, label), of in turns.items() if len(of) > 1), key=lambda x: (x[0], x[2])
        )
        diverging = {}
        for n in graph.nodes:
            won_of = [{own[e - first][2] for e, _ in edge.occurrences} for edge in graph.edges_from(n)]
            if any(True in a and False in b for i, a in enumerate(won_of) for j, b in enumerate(won_of) if i != j):
                rates = [graph.success_rate(edge) for edge in graph.edges_from(n)]
                diverging[n] = max(rates) - min(rates)
        points = graph.divergence_points()
        assert {at.node: at.spread for at in points} == diverging
        assert [at.spread for at in points] == sorted(diverging.values(), reverse=True)
        check_paths(graph)
        first += len(own)


def check_paths(graph: TrajectoryGraph) -> None:
    """Compare dead ends, shortest successes and cut states with networkx."""
    flow = nx.DiGraph((e.tail.id, e.head.id) for e in graph.edges)
    flow.add_nodes_from(n.id for n in graph.nodes)
    success = graph.ends[0].id
    inner = graph.nodes[:-2]
    assert list(graph.dead_ends()) == [n for n in inner if not nx.has_path(flow, n.id, success)]
    for n in graph.nodes:
        path = graph.shortest_success(n)
        if path is None:
            assert not nx.has_path(flow, n.id, success)
        else:
            assert len(path) == nx.shortest_path_length(flow, n.id, success)
            assert [e.tail for e in path] == [n, *(e.head for e in path)][: len(path)]
            assert not path or path[-1].head.id == success
    flow.add_edges_from((-1, n.id) for n in graph.starts)
    expected: list[int] = []
    if nx.has_path(flow, -1, success):
        above = nx.immediate_dominators(flow, -1)
        at = above[success]
        while at != -1:
            expected.insert(0, at)
            at = above[at]
    assert [n.id for n in graph.cut_states()] == expected


def test_a_deep_graph_is_walked_and_cut() -> None:
    # Two chains with a rung at every step, between a state that all paths leave and one that all come to.
    n = 10_000
    zigzag = [step for i in range(n) for step in ((f"x{i}", "up"), (f"y{i}", "down"), (f"x{i}", "on"))]
    one: Told = ([("gate", "a"), *zigzag, ("last", "exit")], "", True, False)
    two: Told = ([("gate", "b"), *((f"y{i}", "on") for i in range(n)), ("last", "exit")], "", True, False)
    graph = trajectory_graph(reported(one, two), labels={text_key("gate"): "gate", text_key("last"): "last"})
    assert names(graph.cut_states()) == ["gate", "last"]
    path = graph.shortest_success(node(graph, "gate"))
    assert path is not None
    assert len(path) == n + 2
    assert graph.dead_ends() == ()


@pytest.mark.rotating(3)
def test_a_million_steps_are_one_graph() -> None:
    rng = np.random.default_rng(0)
    num_episodes, length = 20_000, 50
    n = num_episodes * length
    table = StepTable.from_columns(
        group=np.zeros(n, np.int64),
        episode=np.repeat(np.arange(num_episodes), length),
        turn=np.tile(np.arange(length), num_episodes),
        anchor=rng.integers(0, 500, n),
        action=rng.integers(0, 5, n),
        reward=np.zeros(n),
        success=np.repeat(np.arange(num_episodes) % 2 == 0, length),
    )
    before = time.process_time()
    graph = trajectory_graph(table)
    assert time.process_time() - before < 20
    assert len(graph.nodes) == 502
    assert [graph.visits(end) for end in graph.ends] == [10_000, 10_000]
    assert sum(graph.visits(n) for n in graph.nodes) == n + num_episodes
