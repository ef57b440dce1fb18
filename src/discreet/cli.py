"""The command line: parse, call one method of the curator, print.

Exit codes: 0 answered, 1 refused or failed (with a sentence on standard error), 2 wrong usage, 3 budget exhausted.
"""

from __future__ import annotations

import json
import sys
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Annotated

import typer

from discreet.errors import BudgetExhausted, DiscreetError, ParameterError
from discreet.privacy.guarantee import ZCDP, ApproxDP, Guarantee, PureDP

app = typer.Typer(help="Private answers with error bars, paid for first.", no_args_is_help=True)
ledger_app = typer.Typer(help="What has been spent.", no_args_is_help=True)
app.add_typer(ledger_app, name="ledger")

Sql = Annotated[str, typer.Argument(help="one SELECT over a declared table")]
File = Annotated[Path, typer.Option("--curator", "-c", help="the curator's file", envvar="DISCREET_CURATOR")]
Epsilon = Annotated[str | None, typer.Option(help="pay this much, with pure noise")]
Delta = Annotated[str | None, typer.Option(help="with --epsilon: allow this delta")]
Rho = Annotated[str | None, typer.Option(help="pay this much zCDP, with Gaussian noise")]
Json = Annotated[bool, typer.Option("--json", help="print JSON")]
DEFAULT = Path("curator.toml")


def _price(epsilon: str | None, delta: str | None, rho: str | None) -> dict[str, Guarantee]:
    match epsilon, delta, rho:
        case (str(), None, None):
            return {"budget": PureDP(epsilon)}
        case (str(), str(), None):
            return {"budget": ApproxDP(epsilon, delta)}
        case (None, None, str()):
            return {"budget": ZCDP(rho)}
        case _:
            raise ParameterError("need a price: --epsilon E, --epsilon E --delta D, or --rho R")


def _print(thing: object) -> None:
    from rich.console import Console

    Console(soft_wrap=True).print(thing, markup=False, highlight=False)


def _waiting(text: str) -> AbstractContextManager[object]:
    """A spinner on standard error while something long runs; nothing where nobody watches."""
    from rich.console import Console

    console = Console(stderr=True)
    return console.status(text) if console.is_terminal else nullcontext()


@app.command()
def explain(
    sql: Sql,
    epsilon: Epsilon = None,
    delta: Delta = None,
    rho: Rho = None,
    error: Annotated[float | None, typer.Option(help="instead of a price: find the epsilon for this error")] = None,
    curator: File = DEFAULT,
    as_json: Json = False,  # noqa: FBT002 - a flag
) -> None:
    """Show mechanism, error bars and price of a question.  Nothing is read, nothing is spent."""
    from discreet.curator import Curator

    price = {} if error is not None and epsilon is None and rho is None else _price(epsilon, delta, rho)
    found = Curator.open(curator).explain(sql, error=error, **price)  # type: ignore[arg-type]
    typer.echo(json.dumps(found.to_dict(), indent=2)) if as_json else _print(str(found))


@app.command()
def ask(
    sql: Sql,
    epsilon: Epsilon = None,
    delta: Delta = None,
    rho: Rho = None,
    curator: File = DEFAULT,
    as_json: Json = False,  # noqa: FBT002 - a flag
    plot: Annotated[Path | None, typer.Option(help="write a picture: .svg, .png or .html")] = None,
    analyst: Annotated[str | None, typer.Option(help="who asks")] = None,
    fresh: Annotated[bool, typer.Option("--fresh", help="pay for a new draw")] = False,  # noqa: FBT002 - a flag
) -> None:
    """Ask a question: plan, spend, read, answer."""
    from discreet.curator import Curator
    from discreet.curator.picture import save

    opened, price = Curator.open(curator), _price(epsilon, delta, rho)
    with _waiting("reading the table ..."):
        answer = opened.ask(sql, analyst=analyst, fresh=fresh, **price)  # type: ignore[arg-type]
    if plot is not None:
        save(answer, plot)
    typer.echo(json.dumps(answer.to_dict(), indent=2, default=str)) if as_json else _print(answer)


@app.command()
def init(
    source: Annotated[Path, typer.Argument(help="a Parquet or CSV file")],
    unit: Annotated[str | None, typer.Option(help="the column that names the privacy unit; none: each row")] = None,
    epsilon: Epsilon = None,
    delta: Delta = None,
    rho: Rho = None,
    declaration: Annotated[Path | None, typer.Option(help="a TOML file with the columns")] = None,
    rows_per_unit: Annotated[int, typer.Option(help="at most so many rows of one unit")] = 1,
    groups_per_unit: Annotated[int, typer.Option(help="at most so many groups of one unit")] = 1,
    out: Annotated[Path, typer.Option("-o", "--out", help="the file to write")] = DEFAULT,
    force: Annotated[bool, typer.Option("--force", help="replace the file")] = False,  # noqa: FBT002 - a flag
) -> None:
    """Write a curator's file.  Bounds are left blank unless declared: they are never read off the data."""
    from discreet.curator.start import start

    _price(epsilon, delta, rho)  # refuses a wrong price before anything is written
    amounts = {"epsilon": epsilon, "delta": delta, "rho": rho}
    bounds = {"rows_per_unit": rows_per_unit, "groups_per_unit": groups_per_unit}
    blanks = start(source, unit=unit, budget=amounts, declaration=declaration, bounds=bounds, out=out, force=force)
    typer.echo(f"wrote {out}" + (f"; fill in {blanks} blank bounds from public knowledge" if blanks else ""))


@app.command()
def demo(
    folder: Annotated[Path, typer.Argument(help="where to write the data and the report")] = Path("out/demo"),
    visits: Annotated[int, typer.Option(help="how many visits to make up")] = 1_000_000,
) -> None:
    """Make a hospital, ask it five questions, write a report."""
    from discreet.curator.demo import demo as run

    typer.echo(f"report: {run(folder, _print, visits=visits)}")


@app.command()
def bench(
    visits: Annotated[int, typer.Option(help="rows of the made-up table")] = 1_000_000,
    as_json: Json = False,  # noqa: FBT002 - a flag
) -> None:
    """Measure noise and a question on this machine (comparisons with other systems: `make bench` in a clone)."""
    from discreet.curator.speed import speed

    with _waiting("measuring ..."):
        rows = speed(visits=visits)
    if as_json:
        typer.echo(json.dumps([{"what": what, "value": value, "unit": unit} for what, value, unit in rows], indent=2))
    else:
        for what, value, unit in rows:
            typer.echo(f"{what:45} {value:10.1f} {unit}")


@ledger_app.command("show")
def show(curator: File = DEFAULT, as_json: Json = False) -> None:  # noqa: FBT002 - a flag
    """Show caps, what is spent and what remains."""
    from discreet.curator import Curator
    from discreet.curator.balance import balances, rich_balances

    found = Curator.open(curator)
    typer.echo(json.dumps(balances(found), indent=2)) if as_json else _print(rich_balances(found))


@ledger_app.command("verify")
def verify(
    curator: File = DEFAULT,
    anchor: Annotated[Path | None, typer.Option(help="an anchor kept elsewhere (JSON)")] = None,
) -> None:
    """Replay the whole ledger and check every hash; with an anchor, that nothing was rolled back."""
    from discreet.curator import Curator
    from discreet.ledger import Anchor

    known = None if anchor is None else Anchor(**json.loads(anchor.read_text(encoding="utf-8")))
    found = Curator.open(curator, verify=False).ledger.verify(anchor=known)
    typer.echo(f"the ledger is whole: {found.id + 1} entries, last hash {found.hash}")


@ledger_app.command("export")
def export(curator: File = DEFAULT) -> None:
    """Print every entry as a line of JSON."""
    from discreet.curator import Curator

    for line in Curator.open(curator).ledger.export():
        typer.echo(line)


@ledger_app.command("anchor")
def anchor(curator: File = DEFAULT) -> None:
    """Print number and hash of the last entry, to keep outside: it makes a rollback visible."""
    from discreet.curator import Curator

    last = Curator.open(curator).ledger.anchor()
    typer.echo(json.dumps({"id": last.id, "hash": last.hash}))


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


if __name__ == "__main__":
    main()
