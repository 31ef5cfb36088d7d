"""The `radixkv` group of commands. They import what they need when they run, so `--version` and `--help` stay quick."""

from __future__ import annotations

import importlib

import click

COMMANDS = {
    "run": "radixkv.cli.run_command",
    "check": "radixkv.cli.check_command",
    "fmt": "radixkv.cli.fmt_command",
    "explain": "radixkv.cli.explain_command",
    "test": "radixkv.cli.test_command",
    "trace": "radixkv.cli.trace_command",
    "generate": "radixkv.cli.generate_command",
    "models": "radixkv.cli.models_command",
    "doctor": "radixkv.cli.doctor_command",
}


class LazyGroup(click.Group):
    """A group whose commands live in modules that are imported when a command is asked for."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Names, in the order of the documentation."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """The command, or None if there is none of that name."""
        if cmd_name not in COMMANDS:
            return None
        command = importlib.import_module(COMMANDS[cmd_name]).command
        if not isinstance(command, click.Command):
            raise TypeError(f"{COMMANDS[cmd_name]}.command is no command")
        return command


def _print_version(ctx: click.Context, _parameter: click.Parameter, asked: bool) -> None:
    if asked and not ctx.resilient_parsing:
        from radixkv import __version__

        click.echo(f"radixkv {__version__}")
        ctx.exit()


@click.group(cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.option(
    "--version", is_flag=True, is_eager=True, expose_value=False, callback=_print_version, help="Print the version."
)
def cli() -> None:
    """Run prompt programs on a cache that never computes a prefix twice.

    \b
    radixkv run examples/judge.rkv -a essay=@examples/essay.txt
    radixkv generate "The capital of France is"
    radixkv check examples/judge.rkv
    """
