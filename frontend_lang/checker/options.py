"""Options after `with` and `set`: known, given once, and in range where their value is written out."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from frontend_lang.checker.report import Report, span_at, suggestion
from frontend_lang.errors import ProgramError
from frontend_lang.running.limits import Limits
from frontend_lang.running.options import fork_settings, gen_settings, norm_setting, stream_setting
from frontend_lang.syntax import ast
from frontend_lang.values import Value, type_name

GEN_OPTIONS = ("max", "temp", "top_p", "top_k", "min_p", "stop", "seed", "logprobs", "timeout", "tries", "model")
UNBUILT_OPTIONS = ("model",)
SELECT_OPTIONS = ("norm",)
BRANCH_OPTIONS = ("width", "timeout", "on_error")
MAP_OPTIONS = (*BRANCH_OPTIONS, "stream")
TOOL_OPTIONS = ("doc", "timeout")
TEST_OPTIONS = ("mock", "scores", "tools", "seed")

# What other systems call them.
FOREIGN_OPTIONS = {
    **dict.fromkeys(("temperature", "t"), "temp"),
    **dict.fromkeys(("max_tokens", "max_new_tokens", "n_predict", "max_length", "maxtokens", "tokens"), "max"),
    **dict.fromkeys(("stop_sequences", "stop_strings", "stop_at", "stops", "until"), "stop"),
    **dict.fromkeys(("num_logprobs", "top_logprobs", "logprob"), "logprobs"),
    **dict.fromkeys(("retries", "attempts"), "tries"),
    **dict.fromkeys(("parallel", "concurrency", "max_parallel"), "width"),
    "nucleus": "top_p",
    "random_seed": "seed",
    **dict.fromkeys(("normalize", "normalise", "normalization"), "norm"),
}

Reader = Callable[[Mapping[str, Value]], object]


def check_options(program: ast.Program, report: Report) -> None:
    """Report on all options of constructs that this version has."""
    branch_gens = tuple(name for name in GEN_OPTIONS if name not in BRANCH_OPTIONS)
    for node in ast.walk(program):
        if isinstance(node, ast.Gen):
            _check("gen", node.options, GEN_OPTIONS, report)
        elif isinstance(node, ast.Set):
            _check("set", node.options, GEN_OPTIONS, report)
        elif isinstance(node, ast.Select):
            _check("select", node.options, SELECT_OPTIONS, report)
        elif isinstance(node, (ast.CountFork, ast.EachFork)):
            _check("fork", node.options, (*BRANCH_OPTIONS, *branch_gens), report)
        elif isinstance(node, ast.Map):
            _check("map", node.options, (*MAP_OPTIONS, *branch_gens), report)
        elif isinstance(node, ast.Tool):
            _check("tool", node.options, TOOL_OPTIONS, report)
        elif isinstance(node, ast.Test):
            _check("test", node.options, TEST_OPTIONS, report)


def _check(construct: str, options: Sequence[ast.Option], known: Sequence[str], report: Report) -> None:
    seen: set[str] = set()
    for option in options:
        span = span_at(option.span, len(option.name))
        if option.name not in known:
            report.add("E0303", span, f"{construct} has no option `{option.name}`", meant(option.name, known))
        elif option.name in seen:
            report.add("E0309", span, f"option `{option.name}` is given twice", "remove one")
        elif option.name in UNBUILT_OPTIONS:
            report.add("E0299", span, "another model per gen is not in this version", "run the program on that model")
        else:
            _check_value(construct, option, report)
        seen.add(option.name)


def meant(name: str, known: Sequence[str]) -> str | None:
    """A hint for a name that is no option: ours for that of another system, the closest, or what there is."""
    offered = [option for option in known if option not in UNBUILT_OPTIONS]
    ours = FOREIGN_OPTIONS.get(name)
    return f"write `{ours}`" if ours in offered else suggestion(name, offered)


def _check_value(construct: str, option: ast.Option, report: Report) -> None:
    written = literal_value(option.value)
    if written is None:
        return
    try:
        _reader(construct, option.name)({option.name: written})
    except ProgramError as error:
        report.add(error.code, option.value.span, error.message, error.hint)
    most = Limits().gen_max
    if option.name == "max" and isinstance(written, int) and written > most:
        report.add("E0401", option.value.span, f"max={written}; at most {most} tokens", "split the gen into parts")


def _reader(construct: str, option: str) -> Reader:
    """What judges the value of an option, at run time too."""
    if construct == "select":
        return norm_setting
    if construct in ("fork", "map") and option in BRANCH_OPTIONS:
        return fork_settings
    if option in ("stream", "doc", "mock", "scores", "tools"):
        return {"stream": stream_setting, "doc": _doc}.get(option, _anything)
    return gen_settings


def _doc(options: Mapping[str, Value]) -> None:
    if not isinstance(options["doc"], str):
        raise ProgramError("E0402", f"option `doc` needs a str, found {type_name(options['doc'])}")


def _anything(options: Mapping[str, Value]) -> None:
    """`mock`, `scores` and `tools` of a test are judged when it runs."""


def literal_value(node: ast.Expression) -> Value:
    """The value of an expression that is written out; None for all others, and for `none`."""
    if isinstance(node, ast.Constant):
        return node.value
    if isinstance(node, ast.Duration):
        return node.seconds
    if isinstance(node, ast.Template):
        return node.literal
    if isinstance(node, ast.Unary) and node.operator == "-":
        value = literal_value(node.operand)
        return -value if isinstance(value, (int, float)) and not isinstance(value, bool) else None
    if isinstance(node, ast.ListLiteral):
        values = [literal_value(item) for item in node.items]
        return None if None in values else values
    return None
