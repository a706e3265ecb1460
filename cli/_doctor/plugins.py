"""Checks of plug-ins on this machine: brief tests of environments, back ends, sandboxes etc."""

from __future__ import annotations

import random
import time
from collections.abc import Iterator

from cairn.cli._doctor.finding import Finding, refused
from cairn.core.errors import CairnError, install_command
from cairn.core.plugins import BACKENDS, ENVS, SANDBOXES, TRACKERS

_SERVERS = {
    "openai": "cairn eval household --agent openai:MODEL --agent-set sampling.openai.url=URL",
    "vllm_server": "cairn train CONFIG --set sampling.method=vllm_server --set sampling.vllm_server.url=URL",
}
_SANDBOX_MENDS = {
    "bubblewrap": "apt-get install bubblewrap",
    "docker": f"{install_command('docker')} && systemctl start docker",
    "landlock": "cairn sandbox serve --kind bubblewrap  # on a machine with Linux 6.12 or newer",
    "process": "cairn eval code --set sandbox=process --set sandbox_settings.trusted=true",
    "remote": "cairn sandbox serve --kind bubblewrap  # on the other machine",
}


def environments() -> Iterator[Finding]:
    """Yield the result of starting an episode in each environment, with its oracle's first step."""
    from cairn.envs import registry

    for env_id in ENVS.ids():
        began = time.monotonic()
        try:
            with registry.closing_env(registry.make(env_id)) as env:
                tasks = env.tasks()
                env.reset(seed=0, options={"task": tasks[0]})
                done = "begins"
                if env.meta.oracles:
                    env.step(env.oracle())
                    done = "an oracle's step taken"
        except CairnError as error:
            yield refused("environments", env_id, error)
        else:
            found = f"{len(tasks):,} tasks; {done} in {time.monotonic() - began:.1f} s"
            yield Finding(section="environments", what=env_id, is_well=True, found=found)


def backends() -> Iterator[Finding]:
    """Yield the requirements of each back end; `hf` samples tokens."""
    for name in BACKENDS.ids():
        yield _backend(name)


def _backend(name: str) -> Finding:
    if name in _SERVERS:
        found = "needs a server, which you name; none was asked"
        return Finding(section="back ends", what=name, is_well=None, found=found, mend=_SERVERS[name])
    try:
        BACKENDS.load(name).check_installed()
        found = f"sampled {_sampled()} tokens" if name == "hf" else "loads"
    except CairnError as error:
        return refused("back ends", name, error)
    return Finding(section="back ends", what=name, is_well=True, found=found)


def _sampled() -> int:
    """Return the number of tokens that a new model of the smallest size has sampled."""
    from cairn.agents.agent import new_backend
    from cairn.agents.backend import Reply, Request
    from cairn.agents.config import SamplingConfig
    from cairn.agents.models.policy import ModelConfig, load_policy

    policy = load_policy(ModelConfig(preset="qwen3-nano", vocab_size=300), lambda: (("go north",), ()), 0)
    backend = new_backend(SamplingConfig(method="hf", slots=1, max_reply_tokens=4), policy)
    try:
        backend.submit(0, Request(prompt_ids=(1, 2, 3), extends=False, choices=None, rng=random.Random(0)))
        while not (finished := backend.step()):
            pass
    finally:
        backend.close()
    [(_, reply)] = finished
    if not isinstance(reply, Reply):
        raise CairnError(f"No reply from a fresh model: {reply}")
    return len(reply.ids)


def sandboxes() -> Iterator[Finding]:
    """Yield each kind's promise after a program ran in it, or its missing requirement."""
    from cairn.sandboxes.registry import new_sandbox

    for name in SANDBOXES.ids():
        sandbox = new_sandbox(name)
        if (problem := sandbox.problem()) is not None:
            mend = _SANDBOX_MENDS.get(name, "")
            yield Finding(section="sandboxes", what=name, is_well=None, found=problem, mend=mend)
            continue
        try:
            with sandbox.session() as session:
                answer = session.run_python("print(6 * 7)").stdout
        except CairnError as error:
            yield refused("sandboxes", name, error)
        else:
            found = sandbox.promises if answer == b"42\n" else f"6 * 7 is {answer!r} there"
            yield Finding(section="sandboxes", what=name, is_well=answer == b"42\n", found=found)
        finally:
            sandbox.close()


def attacks() -> Iterator[Finding]:
    """Yield the outcome of every attack on every kind of sandbox that isolates and works here."""
    from cairn.sandboxes.attacks.attack_run import run_battery
    from cairn.sandboxes.registry import new_sandbox

    report = "do not run untrusted code with it here; report it with this output"
    for name in SANDBOXES.ids():
        sandbox = new_sandbox(name)
        if (problem := sandbox.problem()) is not None:
            yield Finding(section="attacks", what=name, is_well=None, found=problem)
            continue
        trials = list(run_battery(sandbox))
        for trial in (trial for trial in trials if trial.problem is not None):
            what, found = f"{name}: {trial.attack.name}", str(trial.problem)
            yield Finding(section="attacks", what=what, is_well=False, found=found, mend=report)
        held = sum(trial.problem is None for trial in trials)
        found = f"{held} of {len(trials)} attacks held"
        yield Finding(section="attacks", what=name, is_well=held == len(trials), found=found)


def trackers() -> Iterator[Finding]:
    """Yield whether each tracker's packages are installed."""
    for name in TRACKERS.ids():
        try:
            TRACKERS.load(name).check_installed()
        except CairnError as error:
            yield refused("trackers", name, error)
        else:
            found = "on by default" if name == "tensorboard" else f"turn it on with --set trackers.{name}.on=true"
            yield Finding(section="trackers", what=name, is_well=True, found=found)
