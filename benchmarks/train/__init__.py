"""The cost of an update: against TRL's, relative to a GPU's peak, and with shared prefixes.

`side_by_side` runs complete updates of Cairn and TRL; `utilisation` measures the GPU utilisation of a step. The rest
measures one optimiser step with two or three layouts of the sequences, for each context. The step trains on a group:
episodes of one generated household task, played by an explorer with frequent random actions; the model is the untrained
one of the quick start. Each layout is measured in a separate process on one thread: processor time is the median of
some steps, memory is that of the first step. All layouts must give the same gradient.
"""

from __future__ import annotations

import tempfile

from cairn.benchmarks.outcome import Measurement, ResultTable, Row, row
from cairn.benchmarks.process import in_forked_process, print_progress
from cairn.benchmarks.train import side_by_side, utilisation
from cairn.benchmarks.train.group import PUBLISHED, ways
from cairn.benchmarks.train.steps import Measured, measure

FEWER_TOKENS, FASTER, PADDING = 3.0, 2.0, 0.05


def run(quick: bool = False, gpu: bool = False) -> Measurement:
    """Measure; `quick` has fewer and shorter episodes, one step, no TRL, and takes under 45 s.

    `gpu`: only the utilisation of a GPU.
    """
    if gpu:
        return Measurement(rows=utilisation.rows(quick))
    shared, tables = _shared_prefixes(quick)
    compared, more = side_by_side.compare(quick)
    return Measurement(rows=[*compared, *in_forked_process(utilisation.rows, quick), *shared], tables=[*more, *tables])


def _shared_prefixes(quick: bool) -> tuple[list[Row], list[ResultTable]]:
    episodes, turns, times = (3, 10, 1) if quick else (8, 20, 3)
    rows: list[Row] = []
    lines: list[tuple[str, ...]] = []
    with tempfile.TemporaryDirectory() as folder:
        for context, sequences in in_forked_process(ways, folder, episodes, turns).items():
            print_progress(f"train: one step of context {context}")
            found = {
                way: in_forked_process(measure, folder, samples, way == "tree", times)
                for way, samples in sequences.items()
            }
            _check(context, found)
            rows += _rows(context, found, is_claim=not quick and context not in PUBLISHED)
            lines += [_line(context, way, measured) for way, measured in found.items()]
    columns = ("context", "way", "sequences", "tokens", "seconds", "memory, MB", "padding")
    title = f"One optimiser step on {episodes} episodes of {turns} turns"
    return rows, [ResultTable(title=title, columns=columns, rows=tuple(lines))]


def _check(context: str, found: dict[str, Measured]) -> None:
    norms = [measured.grad_norm for measured in found.values()]
    if max(norms) - min(norms) > 1e-3 * max(norms):
        raise AssertionError(f"{context}: gradients of norms {norms} cannot be those of one loss")


def _rows(context: str, found: dict[str, Measured], is_claim: bool) -> list[Row]:
    tree = found["tree"]
    rows = []
    for way, plain in found.items():
        if way == "tree":
            continue
        tokens, seconds = plain.tokens / tree.tokens, plain.seconds / tree.seconds
        has_bar = is_claim and way == "one row a turn"
        bars = (f">= {FEWER_TOKENS}", f">= {FASTER}") if has_bar else (None, None)
        name = f"train: {context}, fewer {{}} than {way}"
        rows += [
            row(name.format("tokens"), tokens, "times", bars[0], f"{plain.tokens:,}, with the tree {tree.tokens:,}"),
            row(
                name.format("seconds"),
                seconds,
                "times",
                bars[1],
                f"{plain.seconds:.2f}, with the tree {tree.seconds:.2f}",
            ),
            row(name.format("megabytes"), plain.megabytes / tree.megabytes, "times"),
        ]
    return [*rows, row(f"train: {context}, padding of attention's queries", tree.padding, "share", f"<= {PADDING}")]


def _line(context: str, way: str, measured: Measured) -> tuple[str, ...]:
    return (
        context,
        way,
        str(measured.sequences),
        f"{measured.tokens:,}",
        f"{measured.seconds:.2f}",
        f"{measured.megabytes:.0f}",
        f"{measured.padding:.1%}",
    )
