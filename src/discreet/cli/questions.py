"""Commands that answer: explain, ask, release, synthesize."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from discreet.cli.left import left
from discreet.cli.options import (
    DEFAULT,
    Analyst,
    Columns,
    Delta,
    Epsilon,
    File,
    Json,
    Picture,
    Rho,
    Sql,
    TableName,
    Url,
    Ways,
    listed,
    opened,
    price_of,
)
from discreet.cli.outcome import UsageError
from discreet.cli.places import TABLES, picture, saving, to_write
from discreet.terminal import shown, waiting

if TYPE_CHECKING:
    from discreet.curator.declared import Declared
    from discreet.queries.marginals import Marginals

MANY = 1_000_000  # answers of a release for which the columns must be named


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
    url: Url = None,
    analyst: Analyst = None,
    as_json: Json = False,  # noqa: FBT002 - a flag
) -> None:
    """Show mechanism, error bars and price of a question or of marginals, and what would be left of the budget.

    Nothing is read, nothing is spent.
    """
    if (sql is None) == (marginals is None) or (marginals is not None and (table is None or error is not None)):
        raise UsageError("need a question in SQL, or --marginals K with --table T")
    if error is not None and (epsilon, delta, rho) != (None, None, None):
        raise UsageError("give a price or --error, for which one is found")
    price = {} if error is not None else price_of(epsilon, delta, rho)
    with opened(curator, url) as held:
        if marginals is not None and table is not None:
            workload = _marginals(held, table, marginals, columns)
            found = held.explain(workload, table=table, **price)  # type: ignore[arg-type]
        else:
            found = held.explain(sql or "", error=error, **price)  # type: ignore[arg-type]
        after = [] if as_json else left(held, found, analyst)
    typer.echo(json.dumps(found.to_dict(), indent=2)) if as_json else shown("\n".join([str(found), *after]))


def _marginals(held: Declared, table: str, ways: int, columns: str | None) -> Marginals:
    """All marginal tables of so many columns; how many there are is known once the table is."""
    from discreet.release.reading import columns_of

    names = listed(columns)
    if table in held.tables and ways > (most := len(columns_of(held.tables[table], names))):
        raise UsageError(f"need --marginals of at most {most}, the number of columns, got {ways}")
    return held.marginals(table, ways, columns=names)


def release(
    table: TableName,
    ways: Annotated[int, typer.Option("--marginals", "-k", min=0, help="all marginal tables of so many columns")] = 2,
    columns: Columns = None,
    epsilon: Epsilon = None,
    delta: Delta = None,
    rho: Rho = None,
    out: Annotated[Path, typer.Option("-o", "--out", help="the file to write")] = Path("marginals.release"),
    mechanism: Annotated[str, typer.Option(help="a registered mechanism, or auto")] = "auto",
    curator: File = DEFAULT,
    url: Url = None,
    analyst: Analyst = None,
    fresh: Annotated[bool, typer.Option("--fresh", help="pay for a new draw")] = False,  # noqa: FBT002 - a flag
) -> None:
    """Release all marginal tables of some columns: plan, spend, read, write."""
    price = price_of(epsilon, delta, rho)
    to_write(out)
    with opened(curator, url) as held:
        workload = _marginals(held, table, ways, columns)
        if columns is None and len(workload) > MANY:
            raise UsageError(
                f"all columns together are {len(workload):,} answers, which the file and the ledger would hold:"
                f" name those that matter with --columns, such as --columns {','.join(list(workload.domain)[:2])}"
            )
        with waiting("reading the table ..."):
            made = held.release(workload, table=table, mechanism=mechanism, analyst=analyst, fresh=fresh, **price)  # type: ignore[arg-type]
    with saving(out):
        made.save(out)
    tables = f"{len(workload.sets):,} table{'s' * (len(workload.sets) != 1)}"
    typer.echo(f"wrote {len(made):,} answers in {tables} to {out}; {made.privacy()}")


def synthesize(
    table: Annotated[str, typer.Option(help="the name of a table; or of several with one unit, the parent first")],
    columns: Columns = None,
    epsilon: Epsilon = None,
    delta: Delta = None,
    rho: Rho = None,
    rows: Annotated[int | None, typer.Option(help="how many to write; else the noisy number of the table's")] = None,
    out: Annotated[Path, typer.Option("-o", "--out", "--output", help="a .parquet or .csv file")] = Path(
        "synthetic.parquet"
    ),
    method: Annotated[str, typer.Option(help="adaptive, tree, independent or mwem")] = "adaptive",
    checkpoint: Annotated[Path | None, typer.Option(help="a file from which a stopped run goes on")] = None,
    time_limit: Annotated[float | None, typer.Option(help="seconds for fitting models, about")] = None,
    memory: Annotated[int | None, typer.Option(help="bytes for the model, at most")] = None,
    only_explain: Annotated[bool, typer.Option("--explain", help="say what it would cost, and stop")] = False,  # noqa: FBT002 - a flag
    curator: File = DEFAULT,
    url: Url = None,
    analyst: Analyst = None,
    fresh: Annotated[bool, typer.Option("--fresh", help="pay for a new model")] = False,  # noqa: FBT002 - a flag
) -> None:
    """Write synthetic rows of a table, or of linked tables: spend, read, fit, draw."""
    names, price = listed(table) or [], price_of(epsilon, delta, rho)
    if not only_explain:
        to_write(out, *TABLES)
        to_write(checkpoint)
    given = {"time_limit": time_limit, "memory": memory, "columns": listed(columns)}
    given |= {} if only_explain else {"checkpoint": checkpoint}
    asked = {name: value for name, value in given.items() if value is not None} | price
    who = {"method": method, "analyst": analyst, "fresh": fresh}
    with opened(curator, url) as held:
        if only_explain:
            shown(str(held.explain_synthesis(table=table, method=method, n=rows, **asked)))  # type: ignore[arg-type]
        elif len(names) > 1:
            linked = held.synthesize_linked(tables=names, units=rows, progress=sys.stderr.isatty(), **who, **asked)  # type: ignore[arg-type]
            with saving(out.with_suffix("")):
                files = ", ".join(map(str, linked.write(out.with_suffix(""))))
            typer.echo(f"wrote synthetic rows to {files}; {linked.privacy()}")
        else:
            made = held.synthesize(table=table, rows=rows, progress=sys.stderr.isatty(), **who, **asked)  # type: ignore[arg-type]
            with saving(out):
                made.write(out)
            typer.echo(f"wrote synthetic rows of {len(made.encoding.domain)} columns to {out}; {made.privacy()}")


def ask(
    sql: Sql,
    epsilon: Epsilon = None,
    delta: Delta = None,
    rho: Rho = None,
    curator: File = DEFAULT,
    url: Url = None,
    as_json: Json = False,  # noqa: FBT002 - a flag
    plot: Picture = None,
    analyst: Analyst = None,
    fresh: Annotated[bool, typer.Option("--fresh", help="pay for a new draw")] = False,  # noqa: FBT002 - a flag
) -> None:
    """Ask a question: plan, spend, read, answer."""
    from discreet.curator.picture import save

    price = price_of(epsilon, delta, rho)
    picture(plot)
    with opened(curator, url) as held, waiting("reading the table ..."):
        answer = held.ask(sql, analyst=analyst, fresh=fresh, **price)  # type: ignore[arg-type]
    typer.echo(json.dumps(answer.to_dict(), indent=2, default=str)) if as_json else shown(answer)
    if plot is not None:
        with saving(plot):
            save(answer, plot)
