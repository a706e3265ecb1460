"""Model servers over HTTP: client, rate limits, request bodies and reply parsers."""
