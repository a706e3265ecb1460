"""What vLLM's workers do for us besides: take weights from a folder, into the model that they have.

For the engine in this process's care and for servers alike: ``--worker-extension-cls PATH`` with `PATH`, then a
collective call of ``load_weights_from``. It resets no cache: keys and values of the old weights are the caller's to
forget.
"""

from __future__ import annotations

from typing import Any

PATH = "cairn.agents.models.vllm_worker.WeightLoader"


class WeightLoader:
    """Joins the bases of vLLM's worker."""

    model_runner: Any  # Any: the worker's own, of vLLM

    def load_weights_from(self, folder: str) -> None:
        """Replace the model's weights by those that `Policy.save` wrote to a folder."""
        from vllm.model_executor.layers.vocab_parallel_embedding import ParallelLMHead

        self.model_runner.reload_weights(weights_path=folder)
        # On a CPU the output layer computes with a packed copy of its weights, which vLLM (0.32) renews only where the
        # file has weights for it. Of models that share them with the embedding it has not: vLLM's `reload_weights`
        # alone would go on with the old output layer.
        for layer in self.model_runner.get_model().modules():
            if isinstance(layer, ParallelLMHead):
                layer.quant_method.process_weights_after_loading(layer)
