"""Model servers over HTTP: a client that retries and waits, and what it says and reads."""
