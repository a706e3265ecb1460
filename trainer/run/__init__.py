"""A training run on disk: folder, checkpoints, history, task split and result."""
