"""What a declared type means: which values it has, how a text becomes one, what constrains a text to be one."""

from __future__ import annotations

from frontend_lang.types.system import TypeSystem
from frontend_lang.types.value_type import ValueType
from frontend_lang.types.words import describe, shown

__all__ = ["TypeSystem", "ValueType", "describe", "shown"]
