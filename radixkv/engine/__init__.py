"""The engine and its sync wrapper."""
