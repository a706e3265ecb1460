"""Agents: what turns observations into actions, and what plays episodes."""
