"""Environments: text worlds with a Gymnasium interface, anchors, oracles and limits."""
