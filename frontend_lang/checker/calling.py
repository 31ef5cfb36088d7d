"""Calls: of defs, of builtins, of tools, of what an import offers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from frontend_lang.checker.naming import Naming
from frontend_lang.checker.report import suggestion
from frontend_lang.checker.signatures import DETAILS, Signature, check_call, imported_signature, signature_of
from frontend_lang.checker.walking import Handler
from frontend_lang.syntax import ast
from frontend_lang.syntax.words import FOREIGN_WORDS

_BINDING = {"gen": "gen x", "select": "select x from …"}


class Calling(Naming):
    """Adds calls."""

    def handlers(self) -> Mapping[type, Handler]:
        """Node class -> what is checked there."""
        return {**super().handlers(), ast.Call: self._call, ast.Use: self._use, ast.Evaluate: self._evaluate}

    def _evaluate(self, node: ast.Evaluate) -> None:
        if isinstance(node.expression, ast.Call) or self.interactive:
            self.visit(node.expression)  # for others E0203 says enough

    def _call(self, node: ast.Call) -> None:
        signature = self._signature(node.callee)
        if signature is not None:
            invoked = signature.kind == "builtin" and signature.name == "invoke"  # the rest are the tool's arguments
            check_call(signature, node.arguments[:1] if invoked else node.arguments, node.span, self.report)
            self._check_builtin(signature, node)
        self.visit(*node.arguments)

    def _use(self, node: ast.Use) -> None:
        call = node.call
        if not isinstance(call, ast.Call):
            self.report.add("E0304", call.span, "`use` needs a call of a def", "use f(…)")
        elif isinstance(call.callee, ast.Name):
            known = self._known(call.callee.name)
            if known is not None and known.kind != "def":
                message = f"`use` runs a def; {'an' if known.kind[0] in 'aeiou' else 'a'} {known.kind} adds no text"
                self.report.add("E0304", call.span, message, f"text {known.name}(…)")
        self.visit(call)

    def _known(self, name: str) -> Signature | None:
        return self.callables.get(name) or self.builtins.get(name)

    def _signature(self, callee: ast.Expression) -> Signature | None:
        """What is called; None if that is unknown or has been reported."""
        if isinstance(callee, ast.Name):
            known = self._known(callee.name)
            if known is None:
                self._uncallable(callee)
            return known
        alias = self.imported_from(callee)
        if alias is not None and isinstance(callee, ast.Attribute):
            return self._imported(alias, callee)
        self._no_name(callee)
        return None

    def _imported(self, alias: str, callee: ast.Attribute) -> Signature | None:
        module = self.imports[alias]
        if module is None:
            return None
        signature = imported_signature(alias, callee.name, module)
        if signature is None and callee.name in module.type_definitions:
            self.report.add("E0304", callee.span, f"`{alias}.{callee.name}` is a type and cannot be called")
        elif signature is None:
            self.not_exported(alias, callee.name, module, callee.span)
        return signature

    def _uncallable(self, callee: ast.Name) -> None:
        name, declaration = callee.name, self.frame.find(callee.name)
        if declaration is not None or name in self.imports:
            what = f"{declaration}" if declaration is not None else "import"
            message, hint = f"`{name}` ({what}) cannot be called", "only defs, tools and builtins can be"
            self.report.add("E0304", callee.span, message, hint)
            return
        meant = FOREIGN_WORDS.get(name) or suggestion(name, [*self.callables, *self.builtins])
        self.report.add("E0301", callee.span, f"unknown function `{name}`", meant)

    def _no_name(self, callee: ast.Expression) -> None:
        """A call of something that is computed, such as `text.strip()`."""
        method = callee.name if isinstance(callee, ast.Attribute) else None
        owner = callee.value if isinstance(callee, ast.Attribute) else None
        if not isinstance(owner, ast.Name) or self.frame.find(owner.name):  # else the walk says that it is unknown
            hint = f"write {method}(…)" if method in self.builtins else "call it by its name"
            self.report.add("E0304", callee.span, "only a def, tool or builtin can be called", hint)
        self.visit(callee)

    # --- builtins that look at their arguments ---

    def _check_builtin(self, signature: Signature, node: ast.Call) -> None:
        if signature.kind != "builtin" or not node.arguments:
            return
        if signature.name in DETAILS:
            self._check_detail(signature.name, node.arguments[0].value)
        elif signature.name == "invoke":
            self._check_invoke(node)

    def _check_detail(self, builtin: str, argument: ast.Expression) -> None:
        """`raw(x)` and its like take a name that gen or select binds; `probs` one that select binds."""
        binders = ("select",) if builtin == "probs" else ("gen", "select")
        example = f"{builtin}(x) after `{_BINDING[binders[0]]}`"
        if not isinstance(argument, ast.Name):
            message = f"`{builtin}` needs a name that {' or '.join(binders)} binds"
            self.report.add("E0307", argument.span, message, example)
            return
        declaration = self.frame.find(argument.name) or self.frame.expected(argument.name)
        if declaration is not None and not self.frame.binds(argument.name, binders):
            code = "E0608" if builtin == "probs" else "E0611"
            message = f"`{argument.name}` ({declaration}) is not bound by {' or '.join(binders)}"
            self.report.add(code, argument.span, message, example)

    def _check_invoke(self, node: ast.Call) -> None:
        """A tool whose name is written out: declared, and with arguments that fit."""
        first, *others = node.arguments
        name = first.value.literal if isinstance(first.value, ast.Template) else None
        if name is None or first.name is not None:
            return
        tool = self.tools.get(name)
        if tool is not None:
            signature = replace(signature_of(tool), name=name)
            check_call(signature, others, node.span, self.report)
            return
        hint = suggestion(name, self.tools) or f"declare it: tool {name if name.isidentifier() else 'name'}(…)"
        self.report.add("E0301", first.span, f"no tool is named `{name}`", hint)
