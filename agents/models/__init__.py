"""Policy models: loading, tokenisers, and the packed forward pass that sampling and training share. torch lives here."""
