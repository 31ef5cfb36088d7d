"""Forks, maps and joins: frames that read the names around them, and what makes one value of them."""

from __future__ import annotations

from collections.abc import Mapping

from frontend_lang.checker.calling import Calling
from frontend_lang.checker.report import span_at, suggestion
from frontend_lang.checker.scopes import Declaration
from frontend_lang.checker.walking import Handler
from frontend_lang.syntax import ast

JOIN_POLICIES = ("all", "first", "best", "vote", "concat")


class Branching(Calling):
    """Adds branches."""

    def handlers(self) -> Mapping[type, Handler]:
        """Node class -> what is checked there."""
        return {
            **super().handlers(),
            ast.CountFork: self._count_fork,
            ast.EachFork: self._each_fork,
            ast.ArmsFork: self._arms_fork,
            ast.Map: self._map,
        }

    def _count_fork(self, node: ast.CountFork) -> None:
        self.visit(node.count, *node.options)
        self._branch(node.body, node.join, [(node.index, Declaration("fork", node.span))])
        self._join(node.join)

    def _each_fork(self, node: ast.EachFork) -> None:
        self.visit(node.items, *node.options)
        each = Declaration("fork", node.name_span)
        self._branch(node.body, node.join, [(node.name, each), (node.index, each)])
        self._join(node.join)

    def _arms_fork(self, node: ast.ArmsFork) -> None:
        seen: set[str] = set()
        for arm in node.arms:
            if arm.name in seen:
                span = span_at(arm.span, len(arm.name))
                self.report.add("E0309", span, f"two branches are named `{arm.name}`", "rename one")
            seen.add(arm.name)
            self._branch(arm.body, node.join, [])
        self._join(node.join)

    def _map(self, node: ast.Map) -> None:
        self.visit(node.items, *node.options)
        row = Declaration("map", node.name_span)
        with self.in_role(None):  # its branches begin in fresh contexts
            self._branch(node.body, None, [(node.name, row), (node.index, row)])

    def _branch(self, body: ast.Block, join: ast.Join | None, names: list[tuple[str | None, Declaration]]) -> None:
        with self.inside("branch", body.statements, outer=True):
            for name, declaration in names:
                if name is not None:
                    self.declare(name, declaration)
            self.visit(body)
            if join is not None and join.policy != "concat":
                self.visit(join.by)  # evaluated in the branch

    def _join(self, join: ast.Join) -> None:
        policy, by = join.policy, join.by
        if policy == "concat":
            self.visit(by)
        elif policy == "best" and by is None:
            self.report.add("E0315", join.span, "`join best` needs `by` and what to compare", "join best by score")
        elif policy not in ("best", "vote") and by is not None:
            self.report.add("E0315", by.span, f"`join {policy}` takes no `by`", "best, vote and concat do")
        if policy == "first":
            message = "`join first` takes whichever branch is ready first: results vary from run to run"
            hint = "best, vote and all do not: what they give depends on the branches' texts alone"
            self.report.add("W0308", join.span, message, hint)
        if policy not in JOIN_POLICIES:
            self._custom_join(join)

    def _custom_join(self, join: ast.Join) -> None:
        signature = self.callables.get(join.policy)
        if signature is None:
            defs = [name for name, known in self.callables.items() if known.kind == "def"]
            hint = suggestion(join.policy, [*JOIN_POLICIES, *defs])
            self.report.add("E0301", join.span, f"no join policy and no def is named `{join.policy}`", hint)
        elif signature.kind != "def":
            message = f"`join {join.policy}` needs a def; `{join.policy}` is a {signature.kind}"
            self.report.add("E0304", join.span, message, "call it in a def that takes the values")
        elif not signature.parameters or len(signature.needed) > 1:
            message = f"`join {join.policy}` calls it with one argument, the values of the branches"
            self.report.add("E0307", join.span, message, f"it is {signature}")
