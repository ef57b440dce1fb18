"""Commands for models: fit one to a table, predict with it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from discreet.cli.options import DEFAULT, Analyst, Columns, Delta, Epsilon, File, Rho, listed, price_of
from discreet.errors import ParameterError, require
from discreet.terminal import waiting


def fit(
    table: Annotated[str, typer.Argument(help="the name of a table")],
    target: Annotated[str | None, typer.Option(help="the column to predict; none for KMeans and PCA")] = None,
    model: Annotated[str, typer.Option(help="an estimator of discreet.learning")] = "LogisticRegression",
    settings: Annotated[str, typer.Option(help='its parameters, as JSON: {"n_clusters": 3}')] = "{}",
    columns: Columns = None,
    epsilon: Epsilon = None,
    delta: Delta = None,
    rho: Rho = None,
    out: Annotated[Path, typer.Option("-o", "--out", help="the file to write")] = Path("fitted.model"),
    curator: File = DEFAULT,
    analyst: Analyst = None,
    fresh: Annotated[bool, typer.Option("--fresh", help="pay for a new fit")] = False,  # noqa: FBT002 - a flag
) -> None:
    """Fit a model to a table: spend, read, fit, write."""
    from discreet.curator import Curator
    from discreet.learning.stored import named, save

    price, made = price_of(epsilon, delta, rho), named(model)
    try:
        wanted = made(**json.loads(settings))
    except (ValueError, TypeError):
        raise ParameterError(f"need parameters of {model} as JSON, such as {{}}, got {settings!r}") from None
    asked = {"target": target, "columns": listed(columns), "analyst": analyst, "fresh": fresh, **price}
    with waiting("fitting a model ..."):
        fitted = Curator.open(curator).fit(wanted, table=table, **asked)
    save(fitted, out)
    typer.echo(f"wrote {model} to {out}; {fitted.privacy()}")


def predict(
    model: Annotated[Path, typer.Argument(help="a file that `discreet fit` wrote")],
    rows: Annotated[Path, typer.Argument(help="a Parquet or CSV file with the columns of the model")],
    out: Annotated[Path, typer.Option("-o", "--out", help="a .parquet or .csv file")] = Path("predicted.csv"),
) -> None:
    """Add a column of predictions to a file of rows.  The model is public; nothing is spent."""
    import pyarrow
    import pyarrow.csv
    import pyarrow.parquet

    from discreet.learning.stored import load

    require(out.suffix.lower() in (".parquet", ".csv"), "an output ending in .parquet or .csv", out=str(out))
    fitted = load(model)
    if not hasattr(fitted, "predict"):
        raise ParameterError(f"need a model that predicts, got {type(fitted).__name__}")
    if not rows.is_file():
        raise ParameterError(f"no file {str(rows)!r}")
    table = pyarrow.parquet.read_table(rows) if rows.suffix.lower() == ".parquet" else pyarrow.csv.read_csv(rows)
    found = table.append_column("predicted", pyarrow.array(fitted.predict(table)))  # type: ignore[attr-defined]
    write = pyarrow.parquet.write_table if out.suffix.lower() == ".parquet" else pyarrow.csv.write_csv
    write(found, out)
    typer.echo(f"wrote {found.num_rows} rows to {out}")
