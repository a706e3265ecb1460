"""The same updates by TRL's GRPOTrainer with its `environment_factory`.

An environment's method is a tool for the model. The chat template and the response template make the model's input and
output equal to Cairn's, token for token: a reply is the argument of the only tool, and the tool's result is the
observation with the task. So TRL has no overhead from wrappers. An environment cannot end an episode in TRL. When an
episode is over, it returns a text above the length limit, and TRL then ends the episode at once, without a further
reply: both sides play the same turns.

TRL has its fastest settings on a CPU: transformers' generate over all episodes at once with a cache, no gradient
checkpointing, no second pass for logprobs (one optimiser step per generation), no logs and no checkpoints.
"""

from __future__ import annotations

import importlib
import tempfile
import time
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from typing import Any, ClassVar

import torch
from transformers import AutoModelForCausalLM, AutoTokenizer

from cairn.benchmarks.process import peak_memory_mb
from cairn.benchmarks.quickstart import environment, settings
from cairn.benchmarks.train.updates import RATE, UpdateTimes, Workload, task_ids

INSTALL = "pip install -c constraints.txt -e '.[trl]'"
_MOST_TOKENS = 2048  # limit of an episode after its first prompt: more than 20 turns need
_TOO_LONG = " a" * (_MOST_TOKENS + 1)
_MICRO_BATCH = 32  # episodes of one backward pass

# The user's `content` is the first observation, a tool's `content` is a later observation, and a call of `act` is
# rendered as its action.
_TEMPLATE = """\
{%- for message in messages -%}
{%- if message.role == 'assistant' -%}
<|act|>{{ message.content }}
{%- for call in message.tool_calls or [] -%}
{%- if call.function.name == 'act' and 'action' in call.function.arguments -%}
{{ call.function.arguments.action }}
{%- else -%}
{{ call.function | tojson }}
{%- endif -%}
{%- endfor -%}
<|end|>
{%- else -%}
{{ message.content }}
{%- endif -%}
{%- endfor -%}
{%- if add_generation_prompt -%}<|act|>{%- endif -%}"""

# Every reply is a call, even an empty one.
_READING = {
    "defaults": {"role": "assistant"},
    "start_anchor": "<|act|>",
    "fields": {
        "tool_calls": {
            "open_pattern": r"(?=.)",
            "close_pattern": r"<\|end\|>",
            "repeats": True,
            "content": "text",
            "transform": {"type": "function", "function": {"name": "act", "arguments": {"action": "{content}"}}},
        },
    },
}


def is_installed() -> bool:
    """Return whether TRL and datasets are installed."""
    return find_spec("trl") is not None and find_spec("datasets") is not None


class Household:
    """The quick start's environment with TRL's interface."""

    seconds: ClassVar[float] = 0.0  # of all environments' steps
    turns: ClassVar[int] = 0
    solved: ClassVar[int] = 0
    turn_limit: ClassVar[int] = 20

    def __init__(self) -> None:
        self._env = environment(turn_limit=self.turn_limit)
        self._mark = settings().agent.context.settings["remind"]
        self._task, self._score = "", 0.0

    def reset(self, task: str, **_: object) -> str:
        """Start an episode and return the text that ends the prompt."""
        text, _info = self._env.reset(seed=0, options={"task": task})
        self._task = " " + text.partition(self._mark)[2].partition("\n")[0].strip()
        self._score = 0.0
        return text

    def act(self, action: str) -> str:
        """Do something in the house.

        Args:
            action: What to do.

        Returns:
            What happens.
        """
        began = time.perf_counter()
        text, _, terminated, truncated, info = self._env.step(action)
        Household.seconds += time.perf_counter() - began
        Household.turns += 1
        Household.solved += bool(info["success"])
        self._score = info["score"]
        return _TOO_LONG if terminated or truncated else text + self._task

    def get_reward(self) -> float:
        """Return the episode's score."""
        return self._score


class _Clock:
    """Wall seconds by phase of the current update, which starts with its rollout."""

    def __init__(self) -> None:
        self.spent: defaultdict[str, float] = defaultdict(float)
        self.began = (0.0, 0.0)  # wall and processor
        self.sampled = 0

    def begin(self) -> None:
        """Clear the measurements of the preceding update."""
        self.spent.clear()
        self.began = (time.perf_counter(), time.process_time())
        Household.seconds, Household.turns, Household.solved = 0.0, 0, 0

    @contextmanager
    def timed(self, phase: str) -> Iterator[None]:
        """Add the time of the block to a phase."""
        began = time.perf_counter()
        yield
        self.spent[phase] += time.perf_counter() - began


def measure(folder: str, work: Workload) -> UpdateTimes:
    """Train the policy in `folder`; run it in a separate process."""
    torch.set_num_threads(1)
    Household.turn_limit = work.turns
    clock = _Clock()
    with tempfile.TemporaryDirectory() as run:
        trainer = _trainer(folder, work, run)
        _watch(trainer, clock)
        trainer.train()
    seconds, cpu_seconds = time.perf_counter() - clock.began[0], time.process_time() - clock.began[1]
    spent = clock.spent
    return UpdateTimes(
        seconds=seconds,
        cpu_seconds=cpu_seconds,
        phases={
            "rollout": spent["played"] - Household.seconds,
            "environment": Household.seconds,
            "logprobs": spent["logprobs"],
            "learn": seconds - spent["made"],
            "other": spent["made"] - spent["played"] - spent["logprobs"],
        },
        episodes=work.episodes,
        turns=Household.turns,
        sampled=clock.sampled,
        solved=Household.solved,
        peak_mb=peak_memory_mb(),
    )


def _trainer(folder: str, work: Workload, run: str) -> Any:  # Any: TRL may not be installed for type checks
    trl, datasets = importlib.import_module("trl"), importlib.import_module("datasets")
    load: Any = AutoModelForCausalLM.from_pretrained  # Any: transformers has no types
    rows = [{"prompt": [{"role": "user", "content": ""}], "task": task} for task in task_ids(work)]
    return trl.GRPOTrainer(
        model=load(folder, dtype=torch.float32, attn_implementation="sdpa"),
        args=_config(trl, work, run),
        train_dataset=datasets.Dataset.from_list(rows),
        processing_class=_tokenizer(folder),
        environment_factory=Household,
    )


def _tokenizer(folder: str) -> Any:  # Any: transformers has no types
    tokenizer: Any = AutoTokenizer.from_pretrained(folder, padding_side="left")  # Any: as above
    tokenizer.chat_template, tokenizer.response_template = _TEMPLATE, _READING
    return tokenizer


def _config(trl: Any, work: Workload, run: str) -> Any:  # Any: as above
    micro_batch = min(_MICRO_BATCH, work.episodes)
    return trl.GRPOConfig(
        output_dir=run,
        use_cpu=True,
        bf16=False,
        gradient_checkpointing=False,
        num_generations=work.group,
        per_device_train_batch_size=micro_batch,
        gradient_accumulation_steps=work.episodes // micro_batch,
        max_steps=work.updates,
        max_tool_calling_iterations=work.turns,
        max_completion_length=_MOST_TOKENS,
        generation_kwargs={"max_new_tokens": work.reply_tokens},
        temperature=1.0,
        learning_rate=RATE,
        lr_scheduler_type="constant",
        shuffle_dataset=False,
        logging_strategy="no",
        save_strategy="no",
        report_to="none",
        disable_tqdm=True,
    )


def _watch(trainer: Any, clock: _Clock) -> None:  # Any: as above
    """Wrap the trainer's methods with timers."""
    made, played, logprobs = (
        trainer._generate_and_score_completions,
        trainer._generate,
        trainer._get_per_token_logps_and_entropies,
    )

    def make(inputs: Any) -> Any:  # Any: as above
        clock.begin()
        with clock.timed("made"):
            return made(inputs)

    def generate(prompts: Any) -> Any:  # Any: as above
        with clock.timed("played"):
            out = played(prompts)
        clock.sampled = sum(map(sum, out[2]))
        return out

    def score(*arguments: Any, **settings: Any) -> Any:  # Any: as above
        if torch.is_grad_enabled():
            return logprobs(*arguments, **settings)
        with clock.timed("logprobs"):
            return logprobs(*arguments, **settings)

    trainer._generate_and_score_completions = make
    trainer._generate = generate
    trainer._get_per_token_logps_and_entropies = score
