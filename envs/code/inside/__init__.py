"""Programs that judge a submission inside sandboxes; standard library only."""
