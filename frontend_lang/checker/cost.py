"""The worst case of a program, as far as it can be told without running it."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, TypeGuard

from frontend_lang.checker.lengths import written_int, written_length
from frontend_lang.checker.options import literal_value
from frontend_lang.checking import WorstCase
from frontend_lang.errors import ProgramError
from frontend_lang.interpreter.entry import choose_entry
from frontend_lang.modules import Module
from frontend_lang.running.options import DEFAULT_TRIES
from frontend_lang.runtime import GenParams
from frontend_lang.syntax import ast

NOTHING = WorstCase(0, 0)


def worst_case(source: ast.Program | Module, entry: str | None = None) -> WorstCase:
    """Bounds on one run of a program that passed the check, or of the def that `entry` or the entry rules choose.

    Conditions count with their dearest side; loops and forks over anything but written numbers, lists and range()
    have no bound. If nothing says which def runs, the bounds hold for each.
    """
    module = source if isinstance(source, Module) else Module(source)
    costs = _Costs(module, {})
    try:
        definition = choose_entry(module.program, entry)
    except ProgramError:
        return _dearest_of([costs.of_def(name) for name in module.defs])
    if definition is not None:
        return costs.of_def(definition.name)
    return costs.of_statements(module.program.statements, _Defaults())


@dataclass(frozen=True)
class _Defaults:
    """Options of gens that `set` and `fork … with` have set; None: not a written number."""

    max_tokens: int | None = GenParams().max_tokens
    tries: int | None = DEFAULT_TRIES

    def changed(self, options: Iterable[ast.Option]) -> _Defaults:
        values = {"max": self.max_tokens, "tries": self.tries}
        for option in options:
            if option.name in values:
                written = literal_value(option.value)
                values[option.name] = written if isinstance(written, int) else None
        return _Defaults(values["max"], values["tries"])


class _Costs:
    """Costs of one module; `others` are those of all modules of the program, made as they are needed."""

    def __init__(self, module: Module, others: dict[Module, _Costs]) -> None:
        others[module] = self
        self._others = others
        self._imports = module.imports
        self._defs = module.defs
        self._known: dict[tuple[str, _Defaults], WorstCase] = {}
        self._active: set[str] = set()  # defs whose bodies are being added up
        self._handlers: dict[type, Callable[[Any, _Defaults], WorstCase]] = {
            ast.Gen: self._gen,
            ast.Call: self._call,
            ast.Comprehension: self._comprehension,
            ast.If: self._if,
            ast.For: self._for,
            ast.Repeat: self._repeat,
            ast.CountFork: self._count_fork,
            ast.EachFork: self._each_fork,
            ast.ArmsFork: self._arms_fork,
            ast.Map: self._map,
            ast.Block: self._block,
            ast.Use: self._use,
            ast.Def: self._declaration,
            ast.Test: self._declaration,
        }

    def of_def(self, name: str) -> WorstCase:
        """A call of the def; one that calls itself has no bound on what it does at all."""
        return self._inside(name, _Defaults())

    def _inside(self, name: str, defaults: _Defaults) -> WorstCase:
        if name in self._active:
            return self._recursion(name)
        if (name, defaults) not in self._known:
            self._active.add(name)
            self._known[name, defaults] = self.of_statements(self._defs[name].body.statements, defaults)
            self._active.discard(name)
        return self._known[name, defaults]

    def _recursion(self, name: str) -> WorstCase:
        """No bound on tokens if a gen can be reached from the def, none on branches if a fork can."""
        nodes = [node for reached in self._reachable(name) for node in ast.walk(self._defs[reached])]
        imported = [self._called(node, _Defaults()) for node in nodes if _is_imported_call(node)]
        forks = any(isinstance(node, (ast.CountFork, ast.EachFork, ast.ArmsFork, ast.Map)) for node in nodes)
        gens = any(isinstance(node, ast.Gen) for node in nodes)
        return WorstCase(
            None if forks or any(cost.branches != 0 for cost in imported) else 0,
            None if gens or any(cost.tokens != 0 for cost in imported) else 0,
        )

    def _reachable(self, name: str) -> set[str]:
        """The def and all defs that it calls or joins with, directly or not."""
        reached, pending = {name}, [name]
        while pending:
            for node in ast.walk(self._defs[pending.pop()]):
                called = node.name if isinstance(node, ast.Name) else node.policy if isinstance(node, ast.Join) else ""
                if called in self._defs and called not in reached:
                    reached.add(called)
                    pending.append(called)
        return reached

    def of_statements(self, statements: Iterable[ast.Statement], defaults: _Defaults) -> WorstCase:
        """Statements one after the other; `set` changes the defaults of those that follow."""
        total = NOTHING
        for statement in statements:
            if isinstance(statement, ast.Set):
                defaults = defaults.changed(statement.options)
            total += self._of(statement, defaults)
        return total

    def _of(self, node: ast.Node | None, defaults: _Defaults) -> WorstCase:
        if node is None:
            return NOTHING
        handler = self._handlers.get(type(node))
        return handler(node, defaults) if handler else self._parts(ast.children(node), defaults)

    def _parts(self, nodes: Iterable[ast.Node | None], defaults: _Defaults) -> WorstCase:
        total = NOTHING
        for node in nodes:
            total += self._of(node, defaults)
        return total

    def _block(self, node: ast.Block, defaults: _Defaults) -> WorstCase:
        return self.of_statements(node.statements, defaults)

    def _declaration(self, node: ast.Node, defaults: _Defaults) -> WorstCase:
        return NOTHING

    def _gen(self, node: ast.Gen, defaults: _Defaults) -> WorstCase:
        settings = defaults.changed(node.options)
        one = WorstCase(0, settings.max_tokens)
        if node.until is not None:
            one = (one + self._of(node.until, defaults)).times(settings.tries)
        return one + self._parts(node.options, defaults)

    def _call(self, node: ast.Call, defaults: _Defaults) -> WorstCase:
        return self._called(node, _Defaults()) + self._parts(node.arguments, defaults)

    def _use(self, node: ast.Use, defaults: _Defaults) -> WorstCase:
        if not isinstance(node.call, ast.Call):
            return NOTHING
        return self._called(node.call, defaults) + self._parts(node.call.arguments, defaults)

    def _called(self, node: ast.Call, defaults: _Defaults) -> WorstCase:
        """The body of the def that is called, of this module or of an import; builtins and tools cost nothing."""
        callee, costs = node.callee, self
        if isinstance(callee, ast.Attribute) and isinstance(callee.value, ast.Name):
            module = self._imports.get(callee.value.name)
            if module is None:
                return NOTHING
            costs = self._others.get(module) or _Costs(module, self._others)
        elif not isinstance(callee, ast.Name):
            return NOTHING
        return costs._inside(callee.name, defaults) if callee.name in costs._defs else NOTHING

    def _comprehension(self, node: ast.Comprehension, defaults: _Defaults) -> WorstCase:
        each = self._of(node.element, defaults) + self._of(node.condition, defaults)
        return each.times(written_length(node.items)) + self._of(node.items, defaults)

    def _if(self, node: ast.If, defaults: _Defaults) -> WorstCase:
        total = self._parts([clause.condition for clause in node.clauses], defaults)
        sides = [self._block(clause.body, defaults) for clause in node.clauses]
        sides.append(self._of(node.otherwise, defaults))
        return total + _dearest_of(sides)

    def _for(self, node: ast.For, defaults: _Defaults) -> WorstCase:
        return self._block(node.body, defaults).times(written_length(node.items)) + self._of(node.items, defaults)

    def _repeat(self, node: ast.Repeat, defaults: _Defaults) -> WorstCase:
        return self._block(node.body, defaults).times(written_int(node.count)) + self._of(node.count, defaults)

    def _count_fork(self, node: ast.CountFork, defaults: _Defaults) -> WorstCase:
        each = self._branch(node.body, node.join, defaults.changed(node.options))
        return each.times(written_int(node.count)) + self._of(node.count, defaults) + self._joining(node.join, defaults)

    def _each_fork(self, node: ast.EachFork, defaults: _Defaults) -> WorstCase:
        each = self._branch(node.body, node.join, defaults.changed(node.options))
        return (
            each.times(written_length(node.items)) + self._of(node.items, defaults) + self._joining(node.join, defaults)
        )

    def _arms_fork(self, node: ast.ArmsFork, defaults: _Defaults) -> WorstCase:
        total = self._joining(node.join, defaults)
        for arm in node.arms:
            total += self._branch(arm.body, node.join, defaults)
        return total

    def _map(self, node: ast.Map, defaults: _Defaults) -> WorstCase:
        each = WorstCase(1, 0) + self._block(node.body, defaults.changed(node.options))
        return each.times(written_length(node.items)) + self._of(node.items, defaults)

    def _branch(self, body: ast.Block, join: ast.Join, defaults: _Defaults) -> WorstCase:
        key = NOTHING if join.policy == "concat" else self._of(join.by, defaults)
        return WorstCase(1, 0) + self._block(body, defaults) + key

    def _joining(self, join: ast.Join, defaults: _Defaults) -> WorstCase:
        if join.policy in self._defs:
            return self.of_def(join.policy)
        return self._of(join.by, defaults) if join.policy == "concat" else NOTHING


def _is_imported_call(node: ast.Node) -> TypeGuard[ast.Call]:
    return isinstance(node, ast.Call) and isinstance(node.callee, ast.Attribute)


def _dearest_of(costs: list[WorstCase]) -> WorstCase:
    return WorstCase(_dearest(cost.branches for cost in costs), _dearest(cost.tokens for cost in costs))


def _dearest(bounds: Iterable[int | None]) -> int | None:
    found = list(bounds)
    return None if None in found else max((bound for bound in found if bound is not None), default=0)
