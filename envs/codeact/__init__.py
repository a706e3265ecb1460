"""The codeact environment: programs that act in any other environment."""
