"""MiniWoB++: pages (`pages`), start and end of episodes (`episode`), oracles (`solvers`)."""
