"""The KV cache: block pool, radix tree, leases."""
