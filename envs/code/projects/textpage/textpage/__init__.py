"""Sets a small markup as plain text: blocks, inline marks, wrapping, pages."""
