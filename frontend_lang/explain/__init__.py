"""What a program would do, told without running it: calls, tokens, shared prefixes, worst cases.

The program is walked with the values that are known; what comes from the model is unknown, but bounded.
"""

from __future__ import annotations

from frontend_lang.explain.counting import OPAQUE, Certainty, ContextCounter, TokenCounter, Tokens
from frontend_lang.explain.explain import explain
from frontend_lang.explain.plan import Plan, PlannedSite, Totals

__all__ = [
    "OPAQUE",
    "Certainty",
    "ContextCounter",
    "Plan",
    "PlannedSite",
    "TokenCounter",
    "Tokens",
    "Totals",
    "explain",
]
