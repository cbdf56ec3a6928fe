"""``neardup schema``: JSON Schema of answers, of the file of --config and of the spec beside an output."""

from __future__ import annotations

import click

from neardup.cli import forms, main
from neardup.cli.voice import print_json, print_text, stdout_errors
from neardup.errors import did_you_mean

CONFIG, SPEC = "config", "spec"


@forms.command("schema", "schema find > find.schema.json", "schema index query", "schema config > neardup.schema.json")
@click.argument("words", metavar="[NAME…]", nargs=-1)
def schema(*, words: tuple[str, ...]) -> None:
    """Print the JSON Schema (draft 2020-12) of what neardup prints, reads and writes as JSON or TOML.

    NAME is a command, such as find or index query, whose answer with --json is described; config, for the file of
    --config; or spec, for the file TARGET.spec.json beside a table. Without one the names are listed.

    Exit codes: 0 done, 2 wrong usage.
    """
    from neardup.cli.answers import answer_schemas, spec_schema
    from neardup.cli.config_schema import config_schema

    name = " ".join(words)
    if name == CONFIG:
        found = {CONFIG: config_schema(main)}
    elif name == SPEC:
        found = {SPEC: spec_schema()}
    else:
        found = answer_schemas()
    known = [*found, CONFIG, SPEC]
    if name and name not in found:
        raise click.UsageError(
            f"there is no schema {name!r}.{did_you_mean(name, known)} neardup schema lists the names."
        )
    if not name:
        print_text("\n".join(known))
        return
    with stdout_errors():
        print_json(found[name])
