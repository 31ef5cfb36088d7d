"""`radixkv models`: what is here, and fetching what is not."""

from __future__ import annotations

from functools import partial

import click

from radixkv.cli.terminal import print_json, say


@click.group("models", invoke_without_command=True)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
@click.pass_context
def command(ctx: click.Context, as_json: bool) -> None:
    """List the models that are known by name, or fetch one.

    \b
    radixkv models
    radixkv models pull smollm2
    """
    if ctx.invoked_subcommand is not None:
        return
    from radixkv.models import known_models

    models = known_models()
    if as_json:
        rows = [
            {"name": m.name, "title": m.title, "licence": m.licence, "path": str(m.path) if m.path else None}
            for m in models
        ]
        print_json({"models": rows})
        return
    for model in models:
        where = str(model.path) if model.path else f"not here; `radixkv models pull {model.name}` fetches it"
        say(f"{model.name}  {model.title} ({model.licence})  {where}")
    click.echo("Also a model: a .gguf file, or a folder with config.json and *.safetensors.")


@command.command("pull")
@click.argument("name")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def pull(name: str, as_json: bool) -> None:
    """Fetch the model NAME into the cache folder and check its digest. Does nothing if it is there."""
    from radixkv.models import locate_model

    files = locate_model(name, progress=partial(say, err=True))
    if as_json:
        print_json({"name": files.name, "path": str(files.path), "kind": files.kind})
    else:
        say(f"{files.name}: {files.path}")
