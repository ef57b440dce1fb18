"""Commands that answer: explain, ask, release, synthesize."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Annotated

import typer

from discreet.cli.options import (
    DEFAULT,
    Analyst,
    Columns,
    Delta,
    Epsilon,
    File,
    Json,
    Rho,
    Sql,
    TableName,
    Ways,
    listed,
    price_of,
)
from discreet.errors import ParameterError, require
from discreet.terminal import shown, waiting


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

    price = {} if error is not None and epsilon is None and rho is None else price_of(epsilon, delta, rho)
    if (sql is None) == (marginals is None) or (marginals is not None and (table is None or error is not None)):
        raise ParameterError("need a question in SQL, or --marginals K with --table T")
    opened = Curator.open(curator)
    if marginals is not None and table is not None:
        found = opened.explain(opened.marginals(table, marginals, columns=listed(columns)), table=table, **price)  # type: ignore[arg-type]
    else:
        found = opened.explain(sql or "", error=error, **price)  # type: ignore[arg-type]
    typer.echo(json.dumps(found.to_dict(), indent=2)) if as_json else shown(str(found))


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
    analyst: Analyst = None,
    fresh: Annotated[bool, typer.Option("--fresh", help="pay for a new draw")] = False,  # noqa: FBT002 - a flag
) -> None:
    """Release all marginal tables of some columns: plan, spend, read, write."""
    from discreet.curator import Curator

    opened, price = Curator.open(curator), price_of(epsilon, delta, rho)
    workload = opened.marginals(table, ways, columns=listed(columns))
    with waiting("reading the table ..."):
        made = opened.release(workload, table=table, mechanism=mechanism, analyst=analyst, fresh=fresh, **price)  # type: ignore[arg-type]
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
    out: Annotated[Path, typer.Option("-o", "--output", help="a .parquet or .csv file")] = Path("synthetic.parquet"),
    method: Annotated[str, typer.Option(help="adaptive, tree, independent or mwem")] = "adaptive",
    checkpoint: Annotated[Path | None, typer.Option(help="a file from which a stopped run goes on")] = None,
    time_limit: Annotated[float | None, typer.Option(help="seconds for fitting models, about")] = None,
    memory: Annotated[int | None, typer.Option(help="bytes for the model, at most")] = None,
    only_explain: Annotated[bool, typer.Option("--explain", help="say what it would cost, and stop")] = False,  # noqa: FBT002 - a flag
    curator: File = DEFAULT,
    analyst: Analyst = None,
    fresh: Annotated[bool, typer.Option("--fresh", help="pay for a new model")] = False,  # noqa: FBT002 - a flag
) -> None:
    """Write synthetic rows of a table, or of linked tables: spend, read, fit, draw."""
    from discreet.curator import Curator

    require(out.suffix.lower() in (".parquet", ".csv"), "an output ending in .parquet or .csv", output=str(out))
    opened, names = Curator.open(curator), listed(table) or []
    given = {"time_limit": time_limit, "memory": memory, "columns": listed(columns)}
    given |= {} if only_explain else {"checkpoint": checkpoint}
    asked = {name: value for name, value in given.items() if value is not None} | price_of(epsilon, delta, rho)
    who = {"method": method, "analyst": analyst, "fresh": fresh}
    if only_explain:
        shown(str(opened.explain_synthesis(table=table, method=method, n=rows, **asked)))  # type: ignore[arg-type]
    elif len(names) > 1:
        linked = opened.synthesize_linked(tables=names, units=rows, progress=sys.stderr.isatty(), **who, **asked)  # type: ignore[arg-type]
        files = ", ".join(map(str, linked.write(out.with_suffix(""))))
        typer.echo(f"wrote synthetic rows to {files}; {linked.privacy()}")
    else:
        made = opened.synthesize(table=table, rows=rows, progress=sys.stderr.isatty(), **who, **asked)  # type: ignore[arg-type]
        made.write(out)
        typer.echo(f"wrote synthetic rows of {len(made.encoding.domain)} columns to {out}; {made.privacy()}")


def ask(
    sql: Sql,
    epsilon: Epsilon = None,
    delta: Delta = None,
    rho: Rho = None,
    curator: File = DEFAULT,
    as_json: Json = False,  # noqa: FBT002 - a flag
    plot: Annotated[Path | None, typer.Option(help="write a picture: .svg, .png or .html")] = None,
    analyst: Analyst = None,
    fresh: Annotated[bool, typer.Option("--fresh", help="pay for a new draw")] = False,  # noqa: FBT002 - a flag
) -> None:
    """Ask a question: plan, spend, read, answer."""
    from discreet.curator import Curator
    from discreet.curator.picture import save

    opened, price = Curator.open(curator), price_of(epsilon, delta, rho)
    with waiting("reading the table ..."):
        answer = opened.ask(sql, analyst=analyst, fresh=fresh, **price)  # type: ignore[arg-type]
    if plot is not None:
        save(answer, plot)
    typer.echo(json.dumps(answer.to_dict(), indent=2, default=str)) if as_json else shown(answer)
