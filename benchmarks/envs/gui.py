"""Browser environments: speed, memory, stability and success; MiniWoB++ and BrowserGym.

Each part runs in a separate process with its own browser. Both sides play the same pages in sequence, on the same
Chromium: alternately no action and a click on a visible element, at most `_gui_speed.TURNS` turns per episode.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from cairn.benchmarks.envs import _browsergym, _gui_agents, _gui_speed, _gui_steady
from cairn.benchmarks.envs._gui_speed import Speed
from cairn.benchmarks.outcome import Measurement, ResultTable, Row, row
from cairn.benchmarks.process import in_fresh_process, print_progress
from cairn.core.errors import CairnError
from cairn.envs.gui.render_text import CHARS_PER_TOKEN
from cairn.envs.registry import make

APPS, MINIWOB = "gui/apps", "gui/miniwob"
PAGES = (
    "choose-list", "click-button", "click-checkboxes", "click-link", "click-test", "email-inbox", "enter-text",
    "login-user",
)  # fmt: skip
_PAGES_AT_ONCE = 8
_FASTER_STEPS, _FASTER_RESETS, _OF_GOTO, _SCALING = 5, 20, 1.5, 1.8
_SECONDS, _QUICK_SECONDS = 20.0, 2.0


def measure(quick: bool) -> Measurement:
    """Measure both; `quick` uses samples, skips BrowserGym, and takes under 45 s."""
    seconds = _QUICK_SECONDS if quick else _SECONDS
    rows: list[Row] = []
    tables: list[ResultTable] = []
    for env_id in (APPS, MINIWOB):
        try:
            tasks = tasks_for_speed(env_id)
        except CairnError as error:
            rows.append(row(f"{env_id}: not measured: {error}", None, ""))
            continue
        print_progress(f"{env_id}: speed, one page and {_PAGES_AT_ONCE}")
        speed = in_fresh_process(_gui_speed.measure, env_id, tasks, _PAGES_AT_ONCE, seconds)
        rows += speed_rows(env_id, speed)
        tables.append(speed_table(env_id, speed))
        if env_id == MINIWOB:
            anew = in_fresh_process(_gui_speed.measure, env_id, tasks, _PAGES_AT_ONCE, seconds / 2, False)
            rows += anew_rows(anew)
            print_progress(f"{env_id}: beside BrowserGym")
            rows += _beside(speed, quick, seconds)
        print_progress(f"{env_id}: memory")
        rows += _gui_steady.rows(env_id, tasks, quick)
        rows += _gui_agents.rows(env_id, "<= 0" if env_id == APPS else None, quick)
    return Measurement(rows=rows, tables=tables)


def tasks_for_speed(env_id: str) -> tuple[str, ...]:
    """Return the tasks for speed measurements.

    An environment that cannot start raises its error.
    """
    with make(env_id) as env:
        if env_id == MINIWOB:
            return tuple(f"{page}/0" for page in PAGES)
        tasks = env.tasks()
    first = {task.rpartition("/")[0]: task for task in reversed(tasks)}  # each template's first seed
    templates = sorted(first)
    return tuple(first[templates[i * len(templates) // len(PAGES)]] for i in range(len(PAGES)))


def speed_rows(env_id: str, speed: Speed) -> Iterator[Row]:
    """Return the rows of speed: against a plain `page.goto`, and several pages against one."""

    def name(what: str) -> str:
        return f"{env_id}: {what}"

    one, many = speed.one, speed.many
    for played in (one, many):
        pages = "one page" if played.pages == 1 else f"{played.pages} pages"
        yield row(name(f"{pages}, steps/s, resets counted"), played.step_rate, "steps/s")
        yield row(name(f"{pages}, episodes/s"), played.episode_rate, "episodes/s")
        yield row(name(f"{pages}, episodes that failed"), played.failed, "episodes", "<= 0")
        for what, cores in played.cores.items():
            yield row(name(f"{pages}, processor time of {what}"), cores, "cores")
    baseline = f"one page: {one.step_rate:.4g} steps/s"
    ratio, busy = many.step_rate / one.step_rate, sum(one.cores.values())
    yield row(name("one page, processor time of all"), busy, "cores")
    yield row(name(f"{many.pages} pages against one"), ratio, "x", f">= {_SCALING}", baseline)
    yield row(name("a step"), one.step_ms, "ms")
    baseline = f"a bare page.goto: {speed.goto_ms:.4g} ms"
    yield row(name("a reset, median of the pages' medians"), speed.reset_ms, "ms", baseline=baseline)
    bar = f"<= {_OF_GOTO}" if env_id == APPS else None
    yield row(name("a reset over a bare page.goto, median of pages"), speed.over_goto, "x", bar, baseline)
    yield row(name("looking at a page"), speed.look_ms, "ms")
    yield row(name("text of a page"), speed.tell_ms, "ms")
    yield row(name("an observation, mean"), speed.characters, "characters")
    yield row(name("an observation, estimated"), speed.characters / CHARS_PER_TOKEN, "tokens")
    yield row(name(f"memory of each further page, {many.pages} at once"), speed.page_mb, "MB")
    yield row(name("memory of the browser with one page"), speed.first_mb, "MB")


def anew_rows(speed: Speed) -> Iterator[Row]:
    """Return the rows of MiniWoB++ without the browser's cache, for resets and plain gotos.

    With the cache, a plain goto of such a page takes half the time. A reset also includes an empty page, the start of
    an episode, a frame and an observation.
    """
    where = f"{MINIWOB}, nothing kept in the cache"
    baseline = f"a bare page.goto: {speed.goto_ms:.4g} ms"
    yield row(f"{where}: one page, steps/s, resets counted", speed.one.step_rate, "steps/s")
    yield row(f"{where}: {speed.many.pages} pages, steps/s, resets counted", speed.many.step_rate, "steps/s")
    yield row(f"{where}: a reset, median of the pages' medians", speed.reset_ms, "ms", baseline=baseline)
    yield row(
        f"{where}: a reset over a bare page.goto, median of pages", speed.over_goto, "x", f"<= {_OF_GOTO}", baseline
    )


def speed_table(env_id: str, speed: Speed) -> ResultTable:
    """Return a table with a line per task."""
    lines = tuple(
        (each.task, f"{each.reset_ms:.1f}", f"{each.goto_ms:.1f}", f"{each.over_goto:.2f}", str(each.characters))
        for each in speed.starts
    )
    columns = ("task", "reset, ms", "bare goto, ms", "ratio", "characters")
    return ResultTable(title=f"{env_id}: beginnings, medians", columns=columns, rows=lines)


# -- against BrowserGym ------------------------------------------------------------------------------------------------


def _beside(ours: Speed, quick: bool, seconds: float) -> Sequence[Row]:
    where = f"{MINIWOB}: beside BrowserGym"
    if quick:
        return [row(f"{where}, not measured: takes minutes; leave --quick out", None, "")]
    try:
        python = _browsergym.python()
        theirs = _browsergym.play(python, PAGES, seconds)
        hurried = _browsergym.play(python, PAGES, seconds, hurried=True)
    except CairnError as error:
        return [row(f"{where}, not measured: {error}", None, "")]
    return list(beside_rows(ours, theirs, hurried))


def beside_rows(ours: Speed, theirs: _browsergym.Played, hurried: _browsergym.Played) -> Iterator[Row]:
    """Return the rows of Cairn against BrowserGym, with and without its fixed waits."""
    where = f"{MINIWOB}: against BrowserGym"
    resets = 1000 / ours.reset_ms
    for name, peer, step_bar, reset_bar in (
        (where, theirs, f">= {_FASTER_STEPS}", f">= {_FASTER_RESETS}"),
        (f"{where} without its waits", hurried, None, None),
    ):
        baseline = (
            f"{peer.step_rate:.3g} steps/s, {peer.reset_rate:.3g} resets/s, {peer.episode_rate:.3g} episodes/s, "
            f"{peer.characters:.4g} characters, {peer.memory_mb:.0f} MB"
        )
        yield row(
            f"{name}, steps/s, resets not counted", 1000 / ours.one.step_ms / peer.step_rate, "x", step_bar, baseline
        )
        yield row(f"{name}, resets/s", resets / peer.reset_rate, "x", reset_bar, baseline)
        yield row(f"{name}, episodes/s", ours.one.episode_rate / peer.episode_rate, "x", baseline=baseline)
        yield row(f"{name}, memory of the browser", ours.first_mb / peer.memory_mb, "x", baseline=baseline)
        yield row(f"{name}, characters of an observation", ours.characters / peer.characters, "x", baseline=baseline)
