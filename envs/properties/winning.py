"""Properties of success: oracles succeed; hostile text, constant and random actions do not."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial

from cairn.envs.base import TextEnv
from cairn.envs.properties.subject import (
    Frame,
    Policy,
    PropertyViolation,
    Subject,
    constant,
    in_time,
    last,
    oracle,
    require,
    wander,
)

NUM_TASKS = 64
MAX_CONSTANT_SHARE = 0.05  # maximum share of tasks that a constant action may solve
MAX_RANDOM_SHARE = 0.5  # maximum share of tasks that random actions may solve
CONSTANTS = ("", "look", "0", "yes")

HOSTILE = (
    "",
    " \t\r\n",
    "\x00",
    "look\x00around",
    "".join(map(chr, range(32))) + "\x7f\x80\x9f",
    "\ud800",
    "go to \udfff\ud800",
    "A" * (1 << 20),
    "go to " * 170_000,
    "\n" * 10_000,
    "<script>alert(1)</script></s><|im_end|>",
    "{}[]()\\'\"`$(reboot);--%s%d{0}{task}",
    "\uff2c\uff2f\uff2f\uff2b \ufb01 \u0130 \xdf \u202e\u200b\u0301\U0001f600",
    "success done=true reward=1 score=1",
    "-1",
    "9" * 5000,
    "1e309 nan inf",
    "../../../../etc/passwd",
)


def oracle_succeeds(subject: Subject) -> str:
    """Every oracle solves the promised share of tasks, or reaches their best score."""
    if not subject.env.meta.oracles:
        return "no oracle is declared; that tasks can be solved is not shown"
    promised = subject.env.meta.oracle_success
    chosen = subject.episodes if promised == 1 else subject.all_episodes  # few episodes cannot verify 0.8
    episodes = chosen(NUM_TASKS)
    shares = []
    for name in subject.env.meta.oracles:
        share, lost = _share(subject, partial(_same, oracle(name)), episodes)
        require(
            share >= promised, f"oracle {name!r} solved {share:.0%}, promised {promised:.0%}; first lost task: {lost!r}"
        )
        shares.append(f"{name} {share:.0%}")
    return f"{', '.join(shares)} of {len(episodes)} episodes"


def constant_agent(subject: Subject) -> str:
    """A constant action solves almost no tasks."""
    episodes = subject.episodes(NUM_TASKS)
    shares = {word: _share(subject, partial(_same, constant(word)), episodes)[0] for word in CONSTANTS}
    word, share = max(shares.items(), key=lambda item: item[1])
    require(
        share < MAX_CONSTANT_SHARE, f"always saying {word!r} solves {share:.0%}, allowed below {MAX_CONSTANT_SHARE:.0%}"
    )
    return f"at most {share:.0%} solved"


def random_agent(subject: Subject) -> str:
    """Random actions solve less than half of the tasks."""
    share, _ = _share(subject, lambda task, seed: wander("random agent", task, seed), subject.episodes(NUM_TASKS))
    require(share < MAX_RANDOM_SHARE, f"acting at random solves {share:.0%}, allowed below {MAX_RANDOM_SHARE:.0%}")
    return f"{share:.0%} solved"


def _same(policy: Policy, task: str, seed: int) -> Policy:
    return policy


def _share(
    subject: Subject, policy: Callable[[str, int], Policy], episodes: list[tuple[str, int]]
) -> tuple[float, str | None]:
    """Return the share of episodes with success or best score, and the first lost task."""
    env = subject.env
    lost = []
    for task, seed in episodes:
        info = last(env, task, seed, policy(task, seed)).info
        if not info["success"] and (env.can_solve(task) or info["score"] < env.best_score(task)):
            lost.append(task)
    return 1 - len(lost) / len(episodes), lost[0] if lost else None


def hostile_text(subject: Subject) -> str:
    """Hostile text never raises, never wins and never ends a task unless it is an answer.

    The oracle can still win afterwards.
    """
    env = subject.env
    count = 0
    for task, seed in subject.episodes(8):
        _, info = env.reset(seed=seed, options={"task": task})
        ended = False
        for action in _attacks(env, info["admissible_actions"]):
            count += 1
            if ended or env.turn >= max(1, env.turn_limit - 1):
                env.reset(seed=seed, options={"task": task})
            ended = _attack(env, task, action)
        if ended:
            env.reset(seed=seed, options={"task": task})
        _check_goes_on(env, task, seed)
    return f"{count} texts"


def _attacks(env: TextEnv, actions: tuple[str, ...] | None) -> Iterator[str]:
    """Yield the fixed texts, then texts that resemble admissible actions."""
    yield from HOSTILE
    for action in (actions or ())[:3]:
        yield f"{action}\x00"
        yield f"{action} {action} {action}"
        yield f"please {action} and win"
        yield '{"action": "' + action + '"}'


def _attack(env: TextEnv, task: str, action: str) -> bool:
    """Send one hostile text, check the result, and return whether the episode is over."""
    place = f"task {task!r}, hostile text {action!r:.60}"
    try:
        with in_time(env, f"step({action!r:.80}), of task {task!r},"):
            text, reward, is_terminated, is_truncated, info = env.step(action)
    except PropertyViolation:
        raise
    except Exception as error:  # any error violates the property, and is part of the report
        raise PropertyViolation(f"{place}: raised {type(error).__name__}: {error}") from error
    require(
        isinstance(text, str) and isinstance(reward, (int, float)), f"{place}: got {text!r:.80} and reward {reward!r}"
    )
    require(len(text) <= 1 << 20, f"{place}: answered with {len(text)} characters")
    require(not info["success"], f"{place}: it won")
    may_end = env.meta.turn_limit == 1 or env.meta.takes_text  # any text is an answer in these environments
    require(not is_terminated or may_end, f"{place}: it ended the task")
    return is_terminated or is_truncated


def _check_goes_on(env: TextEnv, task: str, seed: int) -> None:
    """Check that the oracle wins after three hostile texts that are not answers.

    Exceptions: there is no oracle, or the turns run out.
    """
    if not env.meta.oracles or env.meta.turn_limit == 1 or env.meta.takes_text:
        return
    hostile = iter(HOSTILE[5:8])
    follow = oracle(env.meta.oracles[0])
    end: Frame = last(env, task, seed, lambda e, text, info: next(hostile, None) or follow(e, text, info))
    ran_out = end.is_truncated or env.turn >= env.turn_limit
    won = end.info["success"] or ran_out or env.meta.oracle_success < 1
    require(
        won, f"task {task!r}: after hostile text the oracle no longer succeeds; the last text was {end.text!r:.120}"
    )
