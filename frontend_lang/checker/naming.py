"""Names: read where they are declared, assigned in their own frame, taken from imports."""

from __future__ import annotations

from collections.abc import Mapping

from frontend_lang.checker.misplaced import meant_as_option, misplaced_keyword
from frontend_lang.checker.report import closest, span_at, suggestion
from frontend_lang.checker.scopes import Declaration
from frontend_lang.checker.signatures import exports
from frontend_lang.checker.walking import Handler, Walk
from frontend_lang.modules import Module
from frontend_lang.syntax import ast
from frontend_lang.syntax.words import FOREIGN_VALUES, KEYWORDS


class Naming(Walk):
    """Adds names, attributes of imports and assignments."""

    def handlers(self) -> Mapping[type, Handler]:
        """Node class -> what is checked there."""
        return {
            ast.Name: self._name,
            ast.Attribute: self._attribute,
            ast.NamedType: self._named_type,
            ast.Comprehension: self._comprehension,
            ast.Param: self.declaring,
            ast.Let: self.declaring,
            ast.Select: self.declaring,
            ast.Gen: self._gen,
            ast.Assign: self._assign,
        }

    def _gen(self, node: ast.Gen) -> None:
        self.visit(node.type, *node.options)
        self.declare(node.name, Declaration("gen", node.name_span))
        self.visit(node.until)

    def _comprehension(self, node: ast.Comprehension) -> None:
        self.visit(node.items)
        with self.inside("comprehension", (), outer=True):
            self.declare(node.name, Declaration("for", node.name_span))
            self.visit(node.condition, node.element)

    # --- assigning ---

    def _assign(self, node: ast.Assign) -> None:
        self.visit(node.value)
        name, span = node.name, span_at(node.span, len(node.name))
        if name in self.frame.doubtful:
            self._doubt(name, self.frame.doubtful[name], span)
        elif name not in self.frame.names and not (self.frame.loops and name in self.frame.later):
            self._unassignable(node, span)

    def _unassignable(self, node: ast.Assign, span: ast.Span) -> None:
        name, outer = node.name, self.frame.find(node.name)
        if outer is not None and self.frame.branch is not None:
            message = f"a branch cannot change `{name}` ({outer})"
            self.report.add("E0312", span, message, "yield the value and use what the join gives")
        elif name in self.callables or name in self.imports:
            kind = self.callables[name].kind if name in self.callables else "import"
            message = f"`{name}` is {_a(kind)} and cannot be assigned to"
            self.report.add("E0305", span, message, "choose another name")
        elif meant_as_option(node, self.program.source) is None:  # else E0204 says it
            close = closest(name, self.frame.names)
            hint = f"did you mean `{close}`?" if close else f"declare it: let {name} = …"
            self.report.add("E0305", span, f"`{name}` is not declared", hint)

    # --- reading ---

    def _name(self, node: ast.Name) -> None:
        name = node.name
        doubt = self.frame.doubt(name)
        if doubt is not None:
            self._doubt(name, doubt, node.span)
        elif not (self.frame.find(name) or self.frame.expected(name)):
            self._not_a_value(node)

    def _doubt(self, name: str, declaration: Declaration, span: ast.Span) -> None:
        message = f"`{name}` has no value here if the `try` failed before it ({declaration})"
        if declaration.kind == "catch":
            message = f"`{name}` has a value only if the `try` failed ({declaration})"
        self.report.add("W0301", span, message, f"declare it before the `try`: let {name} = none")

    def _not_a_value(self, node: ast.Name) -> None:
        name = node.name
        if name in self.callables or name in self.builtins:
            kind = self.callables[name].kind if name in self.callables else "builtin"
            self.report.add("E0304", node.span, f"`{name}` is {_a(kind)}, not a value", f"call it: {name}(…)")
        elif name in self.imports:
            self.report.add("E0304", node.span, f"`{name}` is an import, not a value", f"use what it has: {name}.f(…)")
        elif name in KEYWORDS:
            self.report.add("E0205", node.span, *misplaced_keyword(node, self.program.source))
        else:
            self.report.add("E0301", node.span, *self._unknown(name))

    def _unknown(self, name: str) -> tuple[str, str | None]:
        """Message and hint for a name that nothing declares here."""
        for frame in self.frame.chain():
            if name in frame.later:
                return f"`{name}` is used before it is declared", f"{frame.later[name]}"
        if name in self.top.later:
            hint = f"a def sees its parameters only: add one, and pass `{name}` ({self.top.later[name]})"
            if any(frame.kind == "test" for frame in self.frame.chain()):
                hint = f"a test sees defs, not the names of the program: declare `{name}` in it"
            return f"unknown name `{name}`", hint
        if name in FOREIGN_VALUES:
            return f"unknown name `{name}`", f"write `{FOREIGN_VALUES[name]}`"
        visible = self.frame.visible()
        close = closest(name, [*visible, *self.imports])
        if close:
            return f"unknown name `{name}`", f"did you mean `{close}` ({visible.get(close, 'import')})?"
        known = [*self.callables, *self.imports, *self.builtins]
        return f"unknown name `{name}`", suggestion(name, known) if not visible else None

    # --- imports ---

    def imported_from(self, node: ast.Expression) -> str | None:
        """The alias, if the node is `alias.name` and no variable hides the import."""
        if not isinstance(node, ast.Attribute) or not isinstance(node.value, ast.Name):
            return None
        alias = node.value.name
        return alias if alias in self.imports and self.frame.find(alias) is None else None

    def _attribute(self, node: ast.Attribute) -> None:
        alias = self.imported_from(node)
        if alias is None:
            self.visit(node.value)
            return
        module = self.imports[alias]
        if module is None:
            return
        if node.name in exports(module):
            shown = f"{alias}.{node.name}"
            kind = "type" if node.name in module.type_definitions else "def" if node.name in module.defs else "tool"
            hint = None if kind == "type" else f"call it: {shown}(…)"
            self.report.add("E0304", node.span, f"`{shown}` is {_a(kind)}, not a value", hint)
        else:
            self.not_exported(alias, node.name, module, node.span)

    def not_exported(self, alias: str, name: str, module: Module, span: ast.Span) -> None:
        """Report that an import has nothing of this name."""
        declared = {node.name for node in module.program.statements if isinstance(node, (ast.Param, ast.Let))}
        hint = suggestion(name, exports(module)) or "it exports nothing"
        if name in declared:
            hint = "imports give def, type and tool; wrap the value in a def"
        self.report.add("E0317", span, f"`{alias}` has no def, type or tool `{name}`", hint)

    def _named_type(self, node: ast.NamedType) -> None:
        alias, dot, name = node.name.partition(".")
        if not dot:
            return
        if alias not in self.imports:
            hint = suggestion(alias, self.imports) or f'import "….rkv" as {alias}'
            self.report.add("E0301", node.span, f"no import is named `{alias}`", hint)
            return
        module = self.imports[alias]
        if module is not None and name not in module.type_definitions:
            self.not_exported(alias, name, module, node.span)


def _a(kind: str) -> str:
    return f"an {kind}" if kind[0] in "aeiou" else f"a {kind}"
