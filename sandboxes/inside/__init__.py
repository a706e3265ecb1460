"""Programs that run inside sandboxes: standard library only, and no import of anything of ours."""
