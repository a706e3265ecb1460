"""Reply forms: formats of a model's replies, one file each."""
