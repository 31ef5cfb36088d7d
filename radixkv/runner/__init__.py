"""Step plans to tensors to sampled tokens."""
