"""The command line: parse, call one method of the curator, print.

Exit codes: 0 answered, 1 refused or failed (with a sentence on standard error), 2 wrong usage, 3 budget exhausted.
"""

from __future__ import annotations

import sys

import typer

from discreet.cli import attack, begin, ledger, models, questions
from discreet.errors import BudgetExhausted, DiscreetError

app = typer.Typer(help="Private answers with error bars, paid for first.", no_args_is_help=True)
for command in (questions.explain, questions.release, questions.synthesize, questions.ask):
    app.command()(command)
for command in (models.fit, models.predict):
    app.command()(command)
for command in (begin.init, begin.demo, begin.bench):
    app.command()(command)
app.add_typer(ledger.app, name="ledger")
app.add_typer(attack.app, name="attack")


def main() -> None:
    """Run the command line; our errors are sentences, not tracebacks."""
    try:
        app()
    except BudgetExhausted as error:
        typer.echo(f"discreet: {error}", err=True)
        sys.exit(3)
    except DiscreetError as error:
        typer.echo(f"discreet: {error}", err=True)
        sys.exit(1)
