"""From lark's tree to our own: types and statements."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, cast

from lark import Token, Tree

from frontend_lang.syntax import ast
from frontend_lang.syntax.build_expressions import Child, ExpressionBuilder, ParseTree


class TypeBuilder(ExpressionBuilder):
    """Adds types, and the options that bounded types share with statements."""

    def type(self, tree: Child) -> ast.Type:
        """The node of a tree that the grammar says is a type."""
        return cast("ast.Type", self.node(tree))

    def _maybe_type(self, tree: Child) -> ast.Type | None:
        return None if tree is None else self.type(tree)

    def options(self, tree: Child) -> tuple[ast.Option, ...]:
        """The options of a `with`, a `set` or a bounded type; none without one."""
        children = tree.children if isinstance(tree, Tree) else []
        return tuple([self._option(child) for child in children if isinstance(child, Tree) and child.data == "opt"])

    def _option(self, tree: ParseTree) -> ast.Option:
        name, value = tree.children
        return ast.Option(str(name), self.expression(value), span=self.span(tree))

    def _build_tname(self, tree: ParseTree) -> ast.NamedType:
        return ast.NamedType(".".join(map(str, tree.children)), span=self.span(tree))

    def _build_tnone(self, tree: ParseTree) -> ast.NamedType:
        return ast.NamedType("none", span=self.span(tree))

    def _build_tgeneric(self, tree: ParseTree) -> ast.GenericType:
        name, argument = tree.children
        return ast.GenericType(str(name), self.type(argument), span=self.span(tree))

    def _build_tbound(self, tree: ParseTree) -> ast.BoundedType:
        elements = [child for child in tree.children if isinstance(child, Tree) and child.data == "element"]
        for again in elements[1:]:
            self.report("E0309", self.span(again), "option `of` is given twice", "remove one")
        element = self.type(elements[0].children[0]) if elements else None
        return ast.BoundedType(str(tree.children[0]), self.options(tree), element, span=self.span(tree))

    def _build_tliteral(self, tree: ParseTree) -> ast.LiteralType:
        value = self.expression(tree.children[0])
        if isinstance(value, ast.Constant):
            return ast.LiteralType(cast("int | float", value.value), span=self.span(tree))
        text = cast("ast.Template", value)
        if text.literal is None:
            self.report("E0402", text.span, "a type cannot contain @{…}", "write the value out")
        return ast.LiteralType(text.literal or "", span=self.span(tree))

    def _build_tregex(self, tree: ParseTree) -> ast.RegexType:
        return ast.RegexType(str(tree.children[0])[3:-1], span=self.span(tree))

    def _build_trecord(self, tree: ParseTree) -> ast.RecordType:
        fields = tuple([self._type_field(child) for child in tree.children if isinstance(child, Tree)])
        return ast.RecordType(fields, span=self.span(tree))

    def _type_field(self, tree: ParseTree) -> ast.TypeField:
        name, mark, type_ = tree.children
        return ast.TypeField(str(name), mark is not None, self.type(type_), span=self.span(tree))

    def _build_union(self, tree: ParseTree) -> ast.UnionType:
        return ast.UnionType(tuple([self.type(child) for child in tree.children]), span=self.span(tree))


class Builder(TypeBuilder):
    """Adds statements."""

    def program(self, tree: ParseTree, file: str, source: str) -> ast.Program:
        """The whole program."""
        return ast.Program(self._statements(tree), file, source, span=self.lines.span(0, len(source)))

    def _statements(self, tree: ParseTree) -> tuple[ast.Statement, ...]:
        return tuple([self.statement(child) for child in tree.children])

    def statement(self, tree: Child) -> ast.Statement:
        """The node of a tree that the grammar says is a statement."""
        data = cast("ParseTree", tree).data
        return cast("ast.Statement", getattr(self, f"_build_{data}")(tree))

    def _block(self, tree: Child) -> ast.Block:
        return cast("ast.Block", self.node(tree))

    def _build_block(self, tree: ParseTree) -> ast.Block:
        return ast.Block(self._statements(tree), span=self.span(tree))

    def _right_side(self, tree: Child) -> ast.RightSide:
        return cast("ast.RightSide", self.expression(tree))

    # --- names and text ---

    def _build_param(self, tree: ParseTree) -> ast.Param:
        name, type_, default = tree.children
        return ast.Param(
            str(name), self._maybe_type(type_), self._maybe(default), self.span_of(name), span=self.span(tree)
        )

    def _build_let(self, tree: ParseTree) -> ast.Let:
        name, type_, value = tree.children
        return ast.Let(
            str(name), self._maybe_type(type_), self._right_side(value), self.span_of(name), span=self.span(tree)
        )

    def _build_assign(self, tree: ParseTree) -> ast.Assign:
        name, value = tree.children
        return ast.Assign(str(name), self._right_side(value), span=self.span(tree))

    def _build_bare(self, tree: ParseTree) -> ast.TextStatement | ast.Evaluate:
        expression = self.expression(tree.children[0])
        if isinstance(expression, ast.Template):
            return ast.TextStatement(expression, newline=False, span=self.span(tree))
        return ast.Evaluate(expression, span=self.span(tree))

    def _build_text(self, tree: ParseTree) -> ast.TextStatement:
        return ast.TextStatement(self._text_body(tree.children[0]), newline=False, span=self.span(tree))

    def _build_line(self, tree: ParseTree) -> ast.TextStatement:
        return ast.TextStatement(self._text_body(tree.children[0]), newline=True, span=self.span(tree))

    def _text_body(self, body: Child) -> ast.Expression:
        return self.rest(body) if isinstance(body, Token) else self.expression(body)

    def _build_role(self, tree: ParseTree) -> ast.RoleStatement:
        keyword, body = tree.children
        role = cast("ast.RoleName", str(cast("ParseTree", keyword).children[0]))
        return ast.RoleStatement(role, self._role_body(body), span=self.span(tree))

    def _role_body(self, body: Child) -> ast.Block | ast.Expression | ast.Gen | ast.Select:
        if isinstance(body, Tree) and body.data in ("gen", "select"):
            return cast("ast.Gen | ast.Select", self.statement(body))
        if isinstance(body, Tree) and body.data == "block":
            return self._block(body)
        return self._text_body(body)

    # --- generation ---

    def _build_gen(self, tree: ParseTree) -> ast.Gen:
        name, type_, with_, until = tree.children
        site = self.site("gen")
        return ast.Gen(
            str(name),
            self._maybe_type(type_),
            self.options(with_),
            self._maybe(until),
            site,
            self.span_of(name),
            span=self.span(tree),
        )

    def _build_select(self, tree: ParseTree) -> ast.Select:
        name, candidates, with_ = tree.children
        site = self.site("select")
        return ast.Select(
            str(name),
            self.expression(candidates),
            self.options(with_),
            site,
            self.span_of(name),
            span=self.span(tree),
        )

    def _build_use(self, tree: ParseTree) -> ast.Use:
        return ast.Use(self.expression(tree.children[0]), span=self.span(tree))

    def _build_set(self, tree: ParseTree) -> ast.Set:
        return ast.Set(self.options(tree), span=self.span(tree))

    # --- branches ---

    def _build_fork(self, tree: ParseTree) -> ast.CountFork | ast.EachFork:
        source, index, with_, body, join = tree.children
        site, span, how = self.site("fork"), self.span(tree), cast("ParseTree", source)
        last = how.children[-1]
        items, options = self.expression(last), self.options(with_)
        block, joined = self._block(body), self._join(join, span)
        as_name = None if index is None else str(index)
        if how.data == "count":
            return ast.CountFork(items, as_name, options, block, joined, site, span=span)
        name = cast("Token", how.children[0])
        return ast.EachFork(str(name), items, as_name, options, block, joined, site, self.span_of(name), span=span)

    def _build_fork_arms(self, tree: ParseTree) -> ast.ArmsFork:
        *arms, join = tree.children
        site, span = self.site("fork"), self.span(tree)
        return ast.ArmsFork(tuple([self._arm(arm) for arm in arms]), self._join(join, span), site, span=span)

    def _arm(self, tree: Child) -> ast.Arm:
        name, body = cast("ParseTree", tree).children
        return ast.Arm(str(name), self._block(body), span=self.span(cast("ParseTree", tree)))

    def _join(self, tree: Child, fork: ast.Span) -> ast.Join:
        if not isinstance(tree, Tree):
            return ast.Join("all", None, keep=False, implicit=True, span=fork)
        policy, by, keep = tree.children
        return ast.Join(str(policy), self._maybe(by), keep is not None, span=self.span(tree))

    def _build_map(self, tree: ParseTree) -> ast.Map:
        name, items, index, with_, body = tree.children
        site = self.site("map")
        return ast.Map(
            str(name),
            self.expression(items),
            None if index is None else str(index),
            self.options(with_),
            self._block(body),
            site,
            self.span_of(name),
            span=self.span(tree),
        )

    # --- control flow ---

    def _build_if_(self, tree: ParseTree) -> ast.If:
        *parts, last = tree.children
        clauses = tuple(
            [self._clause(condition, body) for condition, body in zip(parts[::2], parts[1::2], strict=True)]
        )
        otherwise = self._block(last.children[0]) if isinstance(last, Tree) else None
        return ast.If(clauses, otherwise, span=self.span(tree))

    def _clause(self, condition: Child, body: Child) -> ast.IfClause:
        built, block = self.expression(condition), self._block(body)
        span = self.lines.span(built.span.start, block.span.end)
        return ast.IfClause(built, block, span=span)

    def _build_for_(self, tree: ParseTree) -> ast.For:
        name, items, index, body = tree.children
        site = self.site("loop")
        return ast.For(
            str(name),
            self.expression(items),
            None if index is None else str(index),
            self._block(body),
            site,
            self.span_of(name),
            span=self.span(tree),
        )

    def _build_repeat(self, tree: ParseTree) -> ast.Repeat:
        count, body = tree.children
        site = self.site("loop")
        return ast.Repeat(self.expression(count), self._block(body), site, span=self.span(tree))

    def _build_break_(self, tree: ParseTree) -> ast.Break:
        return ast.Break(span=self.span(tree))

    def _build_continue_(self, tree: ParseTree) -> ast.Continue:
        return ast.Continue(span=self.span(tree))

    def _build_return_(self, tree: ParseTree) -> ast.Return:
        return ast.Return(self._right_side(tree.children[0]), span=self.span(tree))

    def _build_yield_(self, tree: ParseTree) -> ast.Yield:
        return ast.Yield(self._right_side(tree.children[0]), span=self.span(tree))

    # --- declarations ---

    def _build_def(self, tree: ParseTree) -> ast.Def:
        name, *parameters, returns, body = tree.children
        with self.scope(f"{name}."):
            signature, result = self._parameters(parameters), self._returns(returns)
            return ast.Def(str(name), signature, result, self._block(body), self.span_of(name), span=self.span(tree))

    def _parameters(self, children: Sequence[Child]) -> tuple[ast.Parameter, ...]:
        return tuple([self._parameter(child) for child in children if isinstance(child, Tree)])

    def _parameter(self, tree: ParseTree) -> ast.Parameter:
        name, type_, default = tree.children
        return ast.Parameter(str(name), self._maybe_type(type_), self._maybe(default), span=self.span(tree))

    def _returns(self, tree: Child) -> ast.Type | None:
        return self.type(tree.children[0]) if isinstance(tree, Tree) else None

    def _build_tool(self, tree: ParseTree) -> ast.Tool:
        name, *parameters, returns, with_ = tree.children
        return ast.Tool(
            str(name),
            self._parameters(parameters),
            self._returns(returns),
            self.options(with_),
            self.span_of(name),
            span=self.span(tree),
        )

    def _build_typedef(self, tree: ParseTree) -> ast.TypeDefinition:
        name, type_ = tree.children
        return ast.TypeDefinition(str(name), self.type(type_), self.span_of(name), span=self.span(tree))

    def _build_import_(self, tree: ParseTree) -> ast.Import:
        path, name = tree.children
        text = cast("ast.Template", self.expression(path))
        return ast.Import(text, str(name), self.span_of(name), span=self.span(tree))

    # --- guards, events, tests ---

    def _build_assert_(self, tree: ParseTree) -> ast.Guard:
        return self._guard("assert", tree)

    def _build_check(self, tree: ParseTree) -> ast.Guard:
        return self._guard("check", tree)

    def _guard(self, kind: Literal["assert", "check"], tree: ParseTree) -> ast.Guard:
        condition, message = tree.children
        return ast.Guard(kind, self.expression(condition), self._maybe(message), span=self.span(tree))

    def _build_emit(self, tree: ParseTree) -> ast.Emit:
        return ast.Emit("emit", self.expression(tree.children[0]), span=self.span(tree))

    def _build_fail(self, tree: ParseTree) -> ast.Emit:
        return ast.Emit("fail", self.expression(tree.children[0]), span=self.span(tree))

    def _build_try_(self, tree: ParseTree) -> ast.Try:
        body, name, handler = tree.children
        return ast.Try(self._block(body), str(name), self._block(handler), self.span_of(name), span=self.span(tree))

    def _build_test(self, tree: ParseTree) -> ast.Test:
        title, with_, body = tree.children
        with self.scope(self.next_test()):
            text = cast("ast.Template", self.expression(title))
            return ast.Test(text, self.options(with_), self._block(body), span=self.span(tree))
