"""The `radixkv` command. Commands import what they need when they run, so `--version` and `--help` stay quick."""

from __future__ import annotations

import importlib
import sys

import click

from radixkv.cli.outcome import present_failure
from radixkv.cli.settings import settings_file

COMMANDS = {
    "run": "radixkv.cli.run_command",
    "check": "radixkv.cli.check_command",
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
@click.pass_context
def cli(ctx: click.Context) -> None:
    """Run prompt programs on a cache that never computes a prefix twice.

    \b
    radixkv run examples/judge.rkv -a essay=@examples/essay.txt
    radixkv generate "The capital of France is"
    radixkv check examples/judge.rkv
    """
    ctx.default_map = settings_file(COMMANDS)


def main() -> None:
    """Entry point: exit code 0 for success, 1 for failure, 2 for a usage error, 130 after Ctrl-C."""
    try:
        sys.exit(cli.main(standalone_mode=False) or 0)
    except Exception as error:  # noqa: BLE001  the one place where errors become text for a person
        sys.exit(present_failure(error, as_json="--json" in sys.argv[1:]))
    except KeyboardInterrupt:
        click.echo("interrupted", err=True)
        sys.exit(130)
