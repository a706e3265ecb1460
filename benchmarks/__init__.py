"""The benchmarks of ``cairn bench``, one module per question."""
