"""The command line: parse, call one method of the curator, print.

Exit codes: 0 answered, 1 refused or failed (with a sentence on standard error), 2 wrong usage, 3 budget exhausted.
"""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from discreet._version import __version__
from discreet.cli import attack, audit, begin, bench, ledger, models, questions, serve, token
from discreet.cli.outcome import ending

app = typer.Typer(help="Private answers with error bars, paid for first.", no_args_is_help=True)
for command in (questions.explain, questions.release, questions.synthesize, questions.ask):
    app.command()(command)
for command in (models.fit, models.predict):
    app.command()(command)
for command in (begin.init, begin.demo, bench.bench):
    app.command()(command)
app.command()(serve.serve)
app.add_typer(token.app, name="token")
app.command()(audit.audit)
app.add_typer(ledger.app, name="ledger")
app.add_typer(attack.app, name="attack")


def _version(wanted: bool) -> None:  # noqa: FBT001 - what was typed
    if wanted:
        typer.echo(f"discreet {__version__}")
        raise typer.Exit


@app.callback()
def options(
    version: Annotated[  # noqa: FBT002 - a flag
        bool, typer.Option("--version", help="print the version", callback=_version, is_eager=True)
    ] = False,
) -> None:
    """Private answers with error bars, paid for first."""


def main() -> None:
    """Run the command line; errors that were foreseen are sentences, not tracebacks."""
    try:
        app()
    except Exception as error:
        found = ending(error)
        if found is None:
            raise
        typer.echo(f"discreet: {found[0]}", err=True)
        sys.exit(found[1])
