"""The laws every environment keeps, as functions; `envs.checker` lists and runs them."""
