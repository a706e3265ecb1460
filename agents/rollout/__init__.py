"""Rollouts: parallel episodes on one back end, in groups for training or one by one."""
