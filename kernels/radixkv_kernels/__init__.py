"""Attention backends and KV formats of radixkv. Knows nothing of the engine."""
