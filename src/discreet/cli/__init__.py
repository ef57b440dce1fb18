"""The command line: parse, call one method of the curator, print.

Exit codes: 0 answered, 1 refused or failed (with a sentence on standard error), 2 wrong usage, 3 budget exhausted.
"""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from discreet._version import __version__
from discreet.cli import attack, audit, begin, bench, ledger, models, questions, serve, token
from discreet.cli.outcome import ending, notes_told

app = typer.Typer(
    help="Private answers with error bars, paid for first.",
    epilog="New here?  `discreet demo` makes up a hospital and asks it; `discreet init` declares a table of your own.",
    no_args_is_help=True,
)
COMMANDS = {
    "To begin": (begin.demo, begin.init),
    "To ask": (questions.explain, questions.ask, questions.release, questions.synthesize, models.fit, models.predict),
    "For the steward": (serve.serve,),
    "To check": (audit.audit, bench.bench),
}
for room, commands in COMMANDS.items():
    for command in commands:
        app.command(rich_help_panel=room)(notes_told(command))
app.add_typer(ledger.app, name="ledger", rich_help_panel="For the steward")
app.add_typer(token.app, name="token", rich_help_panel="For the steward")
app.add_typer(attack.app, name="attack", rich_help_panel="To check")


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
