"""MiniWoB++: its pages (`pages`), how an episode of one is begun and judged (`episode`), and oracles (`solvers`)."""
