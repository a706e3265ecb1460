"""Text to ids and back, with a memory; what cannot be encoded is an error, never a silent unknown token."""

from __future__ import annotations

import itertools
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from tokenizers import Regex, Tokenizer, decoders, models, pre_tokenizers, trainers
from transformers import PreTrainedTokenizerFast

from cairn.core.errors import ModelFailure

ACT, END, PAD = "<|act|>", "<|end|>", "<|pad|>"
_PLACE = "<<the message stands here>>"  # shows where a chat template puts it; the message itself may occur elsewhere
_COMMON = 0.25  # share of texts from which on a word is common
_MEMORY = 20_000  # texts; most observations and all actions of an environment recur
_MEMORY_CHARS = 2_000  # longer texts are not worth keeping


class Encoder:
    """A tokenizer as the agents use it: no special tokens are added, and text never turns into special tokens."""

    def __init__(self, tokenizer: Any) -> None:  # Any: a transformers tokenizer
        self.tokenizer = tokenizer
        self.unknown_id: int | None = tokenizer.unk_token_id
        self.act_id = _id_of(tokenizer, ACT)
        end = tokenizer.eos_token_id
        if end is None:
            raise ModelFailure("The tokenizer has no end-of-sequence token; set `eos_token` in its configuration")
        self.end_id = int(end)
        self._memory: dict[str, tuple[int, ...]] = {}

    def encode(self, text: str) -> tuple[int, ...]:
        """Return the ids of `text`.

        Raises:
            ModelFailure: the tokenizer has no ids for some of it.
        """
        ids = self._memory.get(text)
        if ids is None:
            ids = self._encode(text)
            if len(text) <= _MEMORY_CHARS:
                if len(self._memory) >= _MEMORY:
                    self._memory.clear()
                self._memory[text] = ids
        return ids

    def encode_prompt(self, text: str) -> tuple[int, ...]:
        """Return the ids of a whole prompt: one user message of the chat template, or the text and the opening mark."""
        if not self.tokenizer.chat_template:
            return (*self.encode(text), *((self.act_id,) if self.act_id is not None else self.encode("\n")))
        before, _, after = self._fill(_PLACE).partition(_PLACE)
        if self._fill(text) != f"{before}{text}{after}":
            raise ModelFailure(
                f"The chat template changes the message's text ({text[:80]!r}); use a template that keeps it"
            )
        # The template's own special tokens count as such; the same characters inside the message do not.
        return (*self._special(before), *self.encode(text), *self._special(after))

    def _fill(self, text: str) -> str:
        message = [{"role": "user", "content": text}]
        filled: str = self.tokenizer.apply_chat_template(message, add_generation_prompt=True, tokenize=False)
        return filled

    def _special(self, text: str) -> tuple[int, ...]:
        return tuple(self.tokenizer.encode(text, add_special_tokens=False))

    def decode(self, ids: Sequence[int]) -> str:
        """Return the text of `ids`, special tokens included as they are written."""
        text: str = self.tokenizer.decode(list(ids), skip_special_tokens=False, clean_up_tokenization_spaces=False)
        return text

    def _encode(self, text: str) -> tuple[int, ...]:
        clean = text.encode("utf-8", "replace").decode("utf-8")  # lone surrogates cannot reach a tokenizer
        ids = tuple(self.tokenizer.encode(clean, add_special_tokens=False, split_special_tokens=True))
        if (self.unknown_id is not None and self.unknown_id in ids) or (not ids and clean.strip()):
            raise ModelFailure(
                f"The tokenizer cannot encode {clean[:80]!r}; use one with byte fallback, "
                "or train one on the environment's text"
            )
        return ids


def train_tokenizer(texts: Sequence[str], vocab_size: int, actions: Iterable[str] = ()) -> PreTrainedTokenizerFast:
    """Train a byte-level BPE tokenizer: every text can be encoded, frequent words of `texts` become single ids.

    Words that stand in a quarter of `texts` or more carry little; runs of them and of punctuation may become one id
    (", you see a"), which shortens an environment's texts. Other words and whole numbers never merge
    with their neighbours, so that a name is the same id wherever it stands. `actions` are learned from as well, but are
    not counted. Special tokens: `<|act|>` opens a reply, `<|end|>` closes it.
    """
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [
            pre_tokenizers.Split(Regex(_pieces(texts)), behavior="isolated"),
            pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False),
        ]
    )
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=vocab_size,
        special_tokens=[PAD, ACT, END],
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    tokenizer.train_from_iterator(itertools.chain(texts, actions), trainer)
    made: PreTrainedTokenizerFast = PreTrainedTokenizerFast(  # type: ignore[no-untyped-call]  # transformers has no types
        tokenizer_object=tokenizer, eos_token=END, pad_token=PAD, additional_special_tokens=[ACT]
    )
    return made


def _pieces(texts: Sequence[str]) -> str:
    """Return the pattern of what BPE may merge: runs of common words and punctuation, else a word, a number, a sign."""
    found = Counter(word for text in texts for word in set(re.findall(r"[^\W\d_]+", text)))
    common = sorted(word for word, count in found.items() if count >= _COMMON * len(texts))
    words = f"|(?: ?(?:{'|'.join(common)})(?!\\w))" if common else ""
    return rf"(?:[.,:;!?]{words})+| ?[^\W\d_]+| ?\d+| ?[^\s\w]+|\s+|_+"


def load_tokenizer(path: str | Path) -> Any:  # Any: transformers picks the class
    """Load a tokenizer from a folder or hub name."""
    from transformers import AutoTokenizer

    return AutoTokenizer.from_pretrained(path)


def _id_of(tokenizer: Any, token: str) -> int | None:  # Any: a transformers tokenizer
    found = tokenizer.convert_tokens_to_ids(token)
    return int(found) if found is not None and found != tokenizer.unk_token_id else None
