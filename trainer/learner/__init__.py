"""The learner: batches, forward and backward passes, objective, optimizers, process groups."""
