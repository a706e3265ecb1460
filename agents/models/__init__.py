"""Policy models: loading, tokenizers, and the forward pass of sampling and training.

`agents` uses torch mainly in this folder.
"""
