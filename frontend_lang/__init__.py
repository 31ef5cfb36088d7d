"""The prompt-program language, independent of any engine."""
