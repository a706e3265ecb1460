"""Run and method configurations (TOML)."""
