"""The properties that every environment has, as functions; `envs.checker` lists and runs them."""
