"""What the methods are made of: comparison within segments, returns, state keys, and values on the trajectory graph."""
