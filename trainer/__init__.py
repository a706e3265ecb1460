"""Training: credit, losses, batches and the loop that ties them together."""
