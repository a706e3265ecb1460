"""Worker extension for vLLM that loads weights from a folder into the running model.

Used by Cairn's engine and by servers: ``--worker-extension-cls PATH`` with `PATH`, then a collective call of
``load_weights_from``.

It resets no cache: the caller must drop the keys and values of the old weights.
"""

from __future__ import annotations

from typing import Any

PATH = "cairn.agents.models.vllm_worker.WeightLoader"


class WeightLoader:
    """Mixin that vLLM adds to its worker class."""

    model_runner: Any  # Any: the worker's own, of vLLM

    def load_weights_from(self, folder: str) -> None:
        """Replace the model's weights by those that `Policy.save` wrote to a folder."""
        from vllm.model_executor.layers.vocab_parallel_embedding import ParallelLMHead

        self.model_runner.reload_weights(weights_path=folder)
        # On a CPU the output layer computes with a packed copy of its weights. vLLM (0.32) updates that copy only if
        # the file has weights for the layer, and files of models with tied embeddings do not. Without this loop,
        # `reload_weights` would keep using the old output layer.
        for layer in self.model_runner.get_model().modules():
            if isinstance(layer, ParallelLMHead):
                layer.quant_method.process_weights_after_loading(layer)
