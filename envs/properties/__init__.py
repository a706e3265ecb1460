"""Properties of environments as check functions; `envs.checker` lists and runs them."""
