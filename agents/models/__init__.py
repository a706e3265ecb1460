"""Policy models: loading, tokenisers, and the forward pass that sampling and training share. torch lives here."""
