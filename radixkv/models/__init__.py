"""Model files, weights and the decoder."""
