"""Continuous batching over ints."""
