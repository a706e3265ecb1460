"""The learner: samples to batches, forward and backward passes, the objective, optimizers and process groups."""
