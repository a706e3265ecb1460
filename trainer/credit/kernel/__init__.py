"""Building blocks of the credit methods: segments, returns, state keys and graph values."""
