"""Runs on several machines with Ray: rollout workers, learner ranks and the store's writer."""
