"""Encodes text to ids and back, with a cache.

Text that cannot be encoded raises an error; it never becomes an unknown token.
"""

from __future__ import annotations

import itertools
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from tokenizers import Regex, Tokenizer, decoders, models, pre_tokenizers, trainers
from transformers import PreTrainedTokenizerFast

from cairn.agents.models.call_formats import CallFormat, call_format
from cairn.agents.models.chat import ChatTemplate
from cairn.agents.models.layouts import ChatLayout, PlainLayout
from cairn.core.errors import ModelFailure

ACT, END, PAD = "<|act|>", "<|end|>", "<|pad|>"
_COMMON = 0.25  # a word in at least this share of the texts is common
_MEMORY = 20_000  # texts; most observations and all actions of an environment recur
_MEMORY_CHARS = 2_000  # longer texts are not cached


class Encoder:
    """A tokenizer as agents use it; it adds no special tokens.

    Text is never encoded as special tokens. `end_id` ends replies: the end token of the chat template, else the
    tokenizer's end of sequence. `end_ids` also contains the ids at which the model's generation configuration ends a
    reply. `chat` joins an episode's texts and replies, by the chat template if there is one; `plain` never uses a
    template. `call_format` parses tool calls in replies; None: the model's format is unknown.
    """

    def __init__(self, tokenizer: Any, further_ends: Iterable[int] = ()) -> None:  # Any: a transformers tokenizer
        self.tokenizer = tokenizer
        self.act_id = _id_of(tokenizer, ACT)
        self._memory: dict[str, tuple[int, ...]] = {}
        template = ChatTemplate(tokenizer) if tokenizer.chat_template else None
        self.end_id = _end_of_sequence(tokenizer) if template is None else template.end_id
        self.end_ids = frozenset({self.end_id, *further_ends})
        self.plain = PlainLayout(self.encode, self.end_id, self.act_id)
        self.chat: ChatLayout = template or self.plain
        self.call_format: CallFormat | None = call_format(tokenizer) if template else None
        self.special_ids = _special_ids(tokenizer) | (template.mark_ids if template else frozenset())
        spelled = [re.escape(token) for token in tokenizer.convert_ids_to_tokens(sorted(self.special_ids))]
        self._spelled = re.compile("|".join(sorted(spelled, key=len, reverse=True)))

    def encode(self, text: str) -> tuple[int, ...]:
        """Return the ids of `text`.

        Raises:
            ModelFailure: the tokenizer cannot encode a part of it.
        """
        ids = self._memory.get(text)
        if ids is None:
            ids = self._encode(text)
            if len(text) <= _MEMORY_CHARS:
                if len(self._memory) >= _MEMORY:
                    self._memory.clear()
                self._memory[text] = ids
        return ids

    def is_closed(self, reply_ids: Sequence[int]) -> bool:
        """Return whether a reply ends in the end id; otherwise it was cut off."""
        return len(reply_ids) > 0 and reply_ids[-1] == self.end_id

    def ends(self, *, is_constrained: bool) -> frozenset[int]:
        """Return the ids that end a reply; a constrained reply ends at `end_id` only."""
        return frozenset({self.end_id}) if is_constrained else self.end_ids

    def without_end(self, reply_ids: Sequence[int]) -> Sequence[int]:
        """Return a reply without its end id; a reply that was cut off has none."""
        return reply_ids[:-1] if len(reply_ids) > 0 and reply_ids[-1] in self.end_ids else reply_ids

    def decode(self, ids: Sequence[int]) -> str:
        """Return the text of `ids`, with special tokens as text."""
        text: str = self.tokenizer.decode(list(ids), skip_special_tokens=False, clean_up_tokenization_spaces=False)
        return text

    def _encode(self, text: str) -> tuple[int, ...]:
        clean = text.encode("utf-8", "replace").decode("utf-8")  # tokenizers reject lone surrogates
        ids = self._pieces_of([clean])
        if not self.special_ids.isdisjoint(ids):  # some tokenizers encode spelled marks as special ids: split them
            cuts = [0, *(found.start() + 1 for found in self._spelled.finditer(clean)), len(clean)]
            ids = self._pieces_of([clean[a:b] for a, b in itertools.pairwise(cuts)])
        if not self.special_ids.isdisjoint(ids) or (not ids and clean.strip()):
            raise ModelFailure(
                f"The tokenizer cannot encode {clean[:80]!r}; use one with byte fallback, "
                "or train one on the environment's text"
            )
        return ids

    def _pieces_of(self, texts: Sequence[str]) -> tuple[int, ...]:
        encode = self.tokenizer.encode
        return tuple(i for text in texts for i in encode(text, add_special_tokens=False, split_special_tokens=True))


def train_tokenizer(
    texts: Sequence[str], vocab_size: int, actions: Iterable[str] = (), marks: Sequence[str] = ()
) -> PreTrainedTokenizerFast:
    """Train a byte-level BPE tokenizer that can encode any text.

    Frequent words of `texts` become single ids. Words in at least a quarter of `texts` carry little information; runs
    of them and of punctuation may become one id (", you see a"), which shortens an environment's texts. Other words and
    whole numbers never merge with their neighbours, so that a name has the same ids in every place. `actions` are also
    training data, but do not count for the word frequencies. Special tokens: `<|act|>` opens a reply, `<|end|>` closes
    it; and those of `marks`.
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
        special_tokens=[PAD, ACT, END, *marks],
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    tokenizer.train_from_iterator(itertools.chain(texts, actions), trainer)
    made: PreTrainedTokenizerFast = PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, eos_token=END, pad_token=PAD, additional_special_tokens=[ACT, *marks]
    )
    return made


def _pieces(texts: Sequence[str]) -> str:
    """Return the pattern of the pieces within which BPE may merge.

    A piece is a run of common words and punctuation, or else a word, a number or a sign.
    """
    found = Counter(word for text in texts for word in set(re.findall(r"[^\W\d_]+", text)))
    common = sorted(word for word, count in found.items() if count >= _COMMON * len(texts))
    words = f"|(?: ?(?:{'|'.join(common)})(?!\\w))" if common else ""
    return rf"(?:[.,:;!?]{words})+| ?[^\W\d_]+| ?\d+| ?[^\s\w]+|\s+|_+"


def load_tokenizer(path: str | Path) -> Any:  # Any: transformers picks the class
    """Load a tokenizer from a folder or hub name."""
    from transformers import AutoTokenizer

    return AutoTokenizer.from_pretrained(path)


def _end_of_sequence(tokenizer: Any) -> int:  # Any: a transformers tokenizer
    if tokenizer.eos_token_id is None:
        raise ModelFailure("The tokenizer has no end-of-sequence token; set `eos_token` in its configuration")
    return int(tokenizer.eos_token_id)


def _special_ids(tokenizer: Any) -> frozenset[int]:  # Any: a transformers tokenizer
    """Return the ids that text must never be encoded to, including the unknown id."""
    added = (i for i, token in tokenizer.added_tokens_decoder.items() if token.special)
    return frozenset((*added, *tokenizer.all_special_ids))


def _id_of(tokenizer: Any, token: str) -> int | None:  # Any: a transformers tokenizer
    found = tokenizer.convert_tokens_to_ids(token)
    return int(found) if found is not None and found != tokenizer.unk_token_id else None
