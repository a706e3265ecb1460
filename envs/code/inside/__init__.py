"""Programs for sandboxes in which a submission is judged: standard library only, each sent together with `values`."""
