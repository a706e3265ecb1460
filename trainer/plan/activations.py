"""Memory of a micro-batch: activations that the backward pass needs, and logits.

Counted from the tensors that autograd saves in a step of today's learner (`tests/trainer/plan/test_inventory.py`).

Not covered: attention masks of shared prefixes, padding of stacked blocks, and temporary tensors of the backward pass,
which live after the logits are freed.
"""

from __future__ import annotations

from cairn.trainer.config import RunConfig
from cairn.trainer.plan.shape import ModelShape

_OBSERVATION = 128  # assumed tokens of an observation, relative to those of a reply
_LOGIT_COPIES = 7  # float32 arrays [predictions, V]: logits, over temperature, logprobs, exp, finite, product, gradient


def micro_batch_tokens(config: RunConfig) -> int:
    """Return the tokens of the largest micro-batch: a sequence longer than the setting is not cut."""
    return max(config.learner.micro_batch_tokens, config.sampling.max_context)


def activation_bytes(shape: ModelShape, tokens: int, *, is_checkpointed: bool) -> float:
    """Return the bytes of activations at the start of the backward pass, without logits.

    ::

        kept           tokens (layers layer + last norm)
        checkpointed   tokens (layers b width + layer + last norm): each layer's input, and one recomputed layer
    """
    last_norm = _norm(shape, shape.width)
    if is_checkpointed:
        return tokens * (shape.layers * shape.bytes * shape.width + layer_bytes(shape) + last_norm)
    return tokens * (shape.layers * layer_bytes(shape) + last_norm)


def layer_bytes(shape: ModelShape) -> float:
    """Return the bytes of activations per token of one layer.

    With b bytes a number, Q and K the widths of queries and keys, I the inner width, all weights trained::

        two norms        2 width (4 + 2 b): float32 input, normalised input, result
        attention        b (3 Q + 2 K): queries, result, input of the output projection; keys, values
        norms of heads   (4 + b) (Q + K), where the model has them
        feed-forward     4 b I: gate, silu(gate), up, their product

    With adapters the frozen weights need no inputs, so that norms keep their float32 input only, attention
    b (2 Q + 2 K), norms of heads 4 (Q + K), and the feed-forward part 3 b I. Each adapter keeps its input: a float32
    copy of its own with a bfloat16 base (peft casts it), a shared one with a float32 base.
    """
    b, query, key = shape.bytes, shape.query_width, shape.key_width
    norms = 2 * _norm(shape, shape.width)
    if not shape.adapters:
        heads = (4 + b) * (query + key) if shape.has_head_norms else 0
        return norms + b * (3 * query + 2 * key) + heads + 4 * b * shape.inner
    heads = 4 * (query + key) if shape.has_head_norms else 0
    inputs = 4 * (shape.copied_inputs if b < 4 else shape.kept_inputs)
    return norms + b * (2 * query + 2 * key) + heads + 3 * b * shape.inner + inputs


def logit_bytes(config: RunConfig, shape: ModelShape) -> float:
    """Return the bytes of logits and their temporary copies, for replies of maximum length."""
    reply = config.sampling.max_reply_tokens
    predictions = micro_batch_tokens(config) * reply / (reply + _OBSERVATION)
    return predictions * shape.vocabulary * 4.0 * _LOGIT_COPIES


def _norm(shape: ModelShape, width: int) -> float:
    return width * (4 if shape.adapters else 4 + 2 * shape.bytes)
