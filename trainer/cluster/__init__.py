"""A run on more than one machine, with Ray: rollout workers, learner ranks and the store's writer as actors."""
