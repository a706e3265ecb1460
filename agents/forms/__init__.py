"""Reply forms: how a model is to answer, one file a form."""
