"""Agents: policies, contexts and back ends, and the rollouts and evaluations that use them."""
