"""The engine as a runtime of the language."""
