"""The command line: parse, call one method of the curator, print.

Exit codes: 0 answered, 1 refused or failed (with a sentence on standard error), 2 wrong usage, 3 budget exhausted.
"""

from __future__ import annotations

import json
import sys
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from discreet.errors import BudgetExhausted, DiscreetError, LedgerError, ParameterError, require
from discreet.privacy.guarantee import ZCDP, ApproxDP, Guarantee, PureDP
from discreet.terminal import shown, waiting

if TYPE_CHECKING:
    from discreet.ledger import Anchor, Entry

app = typer.Typer(help="Private answers with error bars, paid for first.", no_args_is_help=True)
ledger_app = typer.Typer(help="What has been spent.", no_args_is_help=True)
app.add_typer(ledger_app, name="ledger")

Sql = Annotated[str, typer.Argument(help="one SELECT over a declared table")]
File = Annotated[Path, typer.Option("--curator", "-c", help="the curator's file", envvar="DISCREET_CURATOR")]
Epsilon = Annotated[str | None, typer.Option(help="pay this much, with pure noise")]
Delta = Annotated[str | None, typer.Option(help="with --epsilon: allow this delta")]
Rho = Annotated[str | None, typer.Option(help="pay this much zCDP, with Gaussian noise")]
Json = Annotated[bool, typer.Option("--json", help="print JSON")]
Kept = Annotated[Path | None, typer.Option(help="an anchor kept elsewhere (JSON)")]
Reason = Annotated[str, typer.Option(help="why; it is kept in the ledger")]
Yes = Annotated[bool, typer.Option("--yes", help="do not ask again")]
Ways = Annotated[int | None, typer.Option(help="instead of SQL: all marginal tables of so many columns")]
Columns = Annotated[str | None, typer.Option(help="of these columns, separated by commas; all of them if not given")]
TableName = Annotated[str, typer.Argument(help="the name of a table")]
UnitName = Annotated[str | None, typer.Option(help="its privacy unit, if the ledger does not know the table yet")]
DEFAULT = Path("curator.toml")


class Form(StrEnum):
    """How a report is written."""

    html = "html"
    json = "json"


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


def _listed(columns: str | None) -> list[str] | None:
    return None if columns is None else [name.strip() for name in columns.split(",")]


@app.command()
def explain(
    sql: Annotated[str | None, typer.Argument(help="one SELECT over a declared table")] = None,
    epsilon: Epsilon = None,
    delta: Delta = None,
    rho: Rho = None,
    error: Annotated[float | None, typer.Option(help="instead of a price: find the epsilon for this error")] = None,
    marginals: Ways = None,
    table: Annotated[str | None, typer.Option(help="with --marginals: the table")] = None,
    columns: Columns = None,
    curator: File = DEFAULT,
    as_json: Json = False,  # noqa: FBT002 - a flag
) -> None:
    """Show mechanism, error bars and price of a question or of marginals.  Nothing is read, nothing is spent."""
    from discreet.curator import Curator

    price = {} if error is not None and epsilon is None and rho is None else _price(epsilon, delta, rho)
    if (sql is None) == (marginals is None) or (marginals is not None and (table is None or error is not None)):
        raise ParameterError("need a question in SQL, or --marginals K with --table T")
    opened = Curator.open(curator)
    if marginals is not None and table is not None:
        found = opened.explain(opened.marginals(table, marginals, columns=_listed(columns)), table=table, **price)  # type: ignore[arg-type]
    else:
        found = opened.explain(sql or "", error=error, **price)  # type: ignore[arg-type]
    typer.echo(json.dumps(found.to_dict(), indent=2)) if as_json else shown(str(found))


@app.command()
def release(
    table: TableName,
    ways: Annotated[int, typer.Option("--marginals", "-k", help="all marginal tables of so many columns")] = 2,
    columns: Columns = None,
    epsilon: Epsilon = None,
    delta: Delta = None,
    rho: Rho = None,
    out: Annotated[Path, typer.Option("-o", "--out", help="the file to write")] = Path("marginals.release"),
    mechanism: Annotated[str, typer.Option(help="a registered mechanism, or auto")] = "auto",
    curator: File = DEFAULT,
    analyst: Annotated[str | None, typer.Option(help="who asks")] = None,
    fresh: Annotated[bool, typer.Option("--fresh", help="pay for a new draw")] = False,  # noqa: FBT002 - a flag
) -> None:
    """Release all marginal tables of some columns: plan, spend, read, write."""
    from discreet.curator import Curator

    opened, price = Curator.open(curator), _price(epsilon, delta, rho)
    workload = opened.marginals(table, ways, columns=_listed(columns))
    with waiting("reading the table ..."):
        made = opened.release(workload, table=table, mechanism=mechanism, analyst=analyst, fresh=fresh, **price)  # type: ignore[arg-type]
    made.save(out)
    tables = f"{len(workload.sets):,} table{'s' * (len(workload.sets) != 1)}"
    typer.echo(f"wrote {len(made):,} answers in {tables} to {out}; {made.privacy()}")


@app.command()
def synthesize(
    table: Annotated[str, typer.Option(help="the name of a table")],
    columns: Columns = None,
    epsilon: Epsilon = None,
    delta: Delta = None,
    rho: Rho = None,
    rows: Annotated[int | None, typer.Option(help="how many to write; else the noisy number of the table's")] = None,
    out: Annotated[Path, typer.Option("-o", "--output", help="a .parquet or .csv file")] = Path("synthetic.parquet"),
    method: Annotated[str, typer.Option(help="adaptive, tree or independent")] = "adaptive",
    curator: File = DEFAULT,
    analyst: Annotated[str | None, typer.Option(help="who asks")] = None,
    fresh: Annotated[bool, typer.Option("--fresh", help="pay for a new model")] = False,  # noqa: FBT002 - a flag
) -> None:
    """Write synthetic rows of a table: spend, read, fit, draw."""
    from discreet.curator import Curator

    require(out.suffix.lower() in (".parquet", ".csv"), "an output ending in .parquet or .csv", output=str(out))
    opened, asked = Curator.open(curator), {"analyst": analyst, "fresh": fresh, **_price(epsilon, delta, rho)}
    with waiting("fitting a model ..."):
        made = opened.synthesize(table=table, columns=_listed(columns), method=method, rows=rows, **asked)  # type: ignore[arg-type]
    made.write(out)
    typer.echo(f"wrote synthetic rows of {len(made.encoding.domain)} columns to {out}; {made.privacy()}")


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
    with waiting("reading the table ..."):
        answer = opened.ask(sql, analyst=analyst, fresh=fresh, **price)  # type: ignore[arg-type]
    if plot is not None:
        save(answer, plot)
    typer.echo(json.dumps(answer.to_dict(), indent=2, default=str)) if as_json else shown(answer)


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

    typer.echo(f"report: {run(folder, shown, visits=visits)}")


@app.command()
def bench(
    visits: Annotated[int, typer.Option(help="rows of the made-up table")] = 1_000_000,
    as_json: Json = False,  # noqa: FBT002 - a flag
) -> None:
    """Measure noise and a question on this machine (comparisons with other systems: `make bench` in a clone)."""
    from discreet.curator.speed import speed

    with waiting("measuring ..."):
        rows = speed(visits=visits)
    found = [{"what": what, "value": value, "unit": unit} for what, value, unit in rows]
    lines = [f"{what:45} {value:10.1f} {unit}" for what, value, unit in rows]
    typer.echo(json.dumps(found, indent=2) if as_json else "\n".join(lines))


@ledger_app.command("show")
def show(curator: File = DEFAULT, as_json: Json = False) -> None:  # noqa: FBT002 - a flag
    """Show caps, what is spent and what remains."""
    from discreet.curator import Curator
    from discreet.curator.balance import balances, rich_balances

    found = Curator.open(curator)
    typer.echo(json.dumps(balances(found), indent=2)) if as_json else shown(rich_balances(found))


@ledger_app.command("verify")
def verify(curator: File = DEFAULT, anchor: Kept = None) -> None:
    """Replay the whole ledger and check every hash; with an anchor, that nothing was rolled back."""
    from discreet.curator.config import ledger

    with ledger(curator, verify=False) as opened:
        found = opened.verify(anchor=_anchor(anchor))
    typer.echo(f"the ledger is whole: {found.id + 1} entries, last hash {found.hash}")


@ledger_app.command("export")
def export(curator: File = DEFAULT) -> None:
    """Print every entry as a line of JSON."""
    from discreet.curator.config import ledger

    with ledger(curator) as opened:
        for line in opened.export():
            typer.echo(line)


@ledger_app.command("anchor")
def anchor(curator: File = DEFAULT) -> None:
    """Print number and hash of the last entry, to keep outside: it makes a rollback visible."""
    from discreet.curator.config import ledger

    with ledger(curator) as opened:
        last = opened.anchor()
    typer.echo(json.dumps({"id": last.id, "hash": last.hash}))


@ledger_app.command("report")
def report(
    out: Annotated[Path, typer.Option("-o", "--out", help="the file to write")],
    form: Annotated[Form, typer.Option("--format", help="a page to read, or JSON")] = Form.html,
    curator: File = DEFAULT,
    anchor: Kept = None,
) -> None:
    """Write a report for an auditor: promises, caps, what was spent by whom, every entry, and whether all is whole."""
    from discreet.curator.config import ledger

    with ledger(curator, verify=False) as opened:
        found = opened.report(anchor=_anchor(anchor))
    out.write_text(found.to_html() if form is Form.html else found.to_json() + "\n", encoding="utf-8")
    typer.echo(f"wrote {out}")
    if not found.verified:
        raise LedgerError(found.finding)


@ledger_app.command("top-up")
def top_up(
    unit: Annotated[str, typer.Argument(help="whose cap is raised")],
    reason: Reason,
    epsilon: Epsilon = None,
    delta: Delta = None,
    rho: Rho = None,
    curator: File = DEFAULT,
    yes: Yes = False,  # noqa: FBT002 - a flag
) -> None:
    """Raise a cap.  The promise to everybody, also for what was released before, becomes the larger one."""
    from discreet.curator.config import ledger

    cap = _price(epsilon, delta, rho)["budget"]
    with ledger(curator) as opened:
        before = opened.budget(unit).present.cap
        _agreed(
            f"Every {unit} was promised {before}. From now on the promise is {cap}, for all answers ever given.", yes
        )
        _entered(opened.top_up(unit, cap, reason=reason))
    typer.echo(f"now state the new budget in {curator}")


@ledger_app.command("renew")
def renew(
    unit: Annotated[str, typer.Argument(help="whose budget is renewed")],
    period: Annotated[str, typer.Option(help="the name of the new period, such as 2027")],
    reason: Reason,
    epsilon: Epsilon = None,
    delta: Delta = None,
    rho: Rho = None,
    curator: File = DEFAULT,
    yes: Yes = False,  # noqa: FBT002 - a flag
) -> None:
    """Begin a period with a cap of its own.  Over all periods a person may lose the sum; what was left lapses."""
    from discreet.curator.config import ledger

    cap = _price(epsilon, delta, rho)["budget"]
    with ledger(curator) as opened:
        before = opened.budget(unit).balance.cap
        _agreed(f"Over all periods every {unit} was promised {before}. The new period adds {cap} to that.", yes)
        _entered(opened.renew(unit, period=period, cap=cap, reason=reason))
        typer.echo(f"over all periods: {opened.budget(unit).balance.cap}")


@ledger_app.command("retire")
def retire(
    table: TableName,
    reason: Reason,
    unit: UnitName = None,
    curator: File = DEFAULT,
    yes: Yes = False,  # noqa: FBT002
) -> None:
    """Refuse further spends on a table.  What was spent stays spent."""
    from discreet.curator.config import ledger

    with ledger(curator) as opened:
        _agreed(f"Nobody will be able to ask about {table} any more.", yes)
        _entered(opened.retire(table, reason=reason, unit=unit))


@ledger_app.command("reopen")
def reopen(
    table: TableName,
    reason: Reason,
    unit: UnitName = None,
    curator: File = DEFAULT,
    yes: Yes = False,  # noqa: FBT002
) -> None:
    """Take spends on a retired table again.  Nothing starts anew."""
    from discreet.curator.config import ledger

    with ledger(curator) as opened:
        _agreed(f"Questions about {table} will be taken again, from what is left.", yes)
        _entered(opened.reopen(table, reason=reason, unit=unit))


@ledger_app.command("erase")
def erase(
    table: TableName,
    version: Annotated[str, typer.Option(help="the version of the table from which on the rows are gone")],
    requests: Annotated[int, typer.Option(help="how many people were erased")],
    unit: UnitName = None,
    curator: File = DEFAULT,
    yes: Yes = False,  # noqa: FBT002 - a flag
) -> None:
    """Note that people were erased: how many, and never who.  Their rows you delete yourself, first."""
    from discreet.curator.config import ledger

    with ledger(curator) as opened:
        _agreed(f"The rows are deleted from {table}, which is now version {version}. What was spent stays spent.", yes)
        _entered(opened.erase(table, version=version, requests=requests, unit=unit))


def _anchor(file: Path | None) -> Anchor | None:
    from discreet.ledger import Anchor

    return None if file is None else Anchor.read(file.read_text(encoding="utf-8"))


def _agreed(consequence: str, yes: bool) -> None:  # noqa: FBT001 - what was typed
    """Say what will be true afterwards, and go on only if that is wanted."""
    typer.echo(consequence)
    if not yes:
        typer.confirm("Go on?", abort=True)


def _entered(entry: Entry) -> None:
    typer.echo(f"entry {entry.id}, hash {entry.hash}")


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
