"""Rollouts: episodes side by side over one back end, in groups for training or one by one."""
