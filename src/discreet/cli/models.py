"""Commands for models: fit one to a table, predict with it."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from discreet.cli.options import DEFAULT, Analyst, Columns, Delta, Epsilon, File, Rho, Url, listed, opened, price_of
from discreet.cli.outcome import UsageError
from discreet.cli.places import TABLES, saving, to_write
from discreet.errors import ParameterError
from discreet.terminal import waiting

if TYPE_CHECKING:
    import pyarrow

    from discreet.learning.estimator import PrivateEstimator


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
    url: Url = None,
    analyst: Analyst = None,
    fresh: Annotated[bool, typer.Option("--fresh", help="pay for a new fit")] = False,  # noqa: FBT002 - a flag
) -> None:
    """Fit a model to a table: spend, read, fit, write."""
    from discreet.learning.stored import save

    price, wanted = price_of(epsilon, delta, rho), _made(model, settings)
    to_write(out)
    asked = {"target": target, "columns": listed(columns), "analyst": analyst, "fresh": fresh, **price}
    with opened(curator, url) as held, _watched(wanted, here=url is None):
        fitted = held.fit(wanted, table=table, **asked)
    with saving(out):
        save(fitted, out)
    typer.echo(f"wrote {model} to {out}; {fitted.privacy()}")


def _made(model: str, settings: str) -> PrivateEstimator:
    """The estimator of a name, with what was typed as its parameters."""
    from inspect import signature

    from discreet.learning.stored import named

    made = named(model)
    try:
        given = json.loads(settings)
    except ValueError:
        given = None
    if not isinstance(given, dict):
        raise UsageError(f"need --settings as a JSON object, such as '{{\"epochs\": 3}}', got {settings!r}")
    known = [name for name in signature(made).parameters if name not in ("budget", "domain")]
    for name in given:
        if name not in known:
            raise ParameterError(f"{model} has no parameter {name!r} in --settings; there are {', '.join(known)}")
    return made(**given)


@contextmanager
def _watched(model: PrivateEstimator, *, here: bool) -> Iterator[None]:
    """A bar of the epochs of a network that is trained here, else a spinner; nothing where nobody watches."""
    epochs = getattr(model, "epochs", None)
    if not (here and "progress" in model.watching and isinstance(epochs, int) and sys.stderr.isatty()):
        with waiting("fitting a model ..."):
            yield
        return
    from discreet.synthesis.progress_bar import bar

    with bar(epochs, shown=True, doing="training", things="epochs") as show:
        model.set_params(progress=lambda epoch: show(epoch.number))
        yield


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

    to_write(out, *TABLES)
    fitted = load(model)
    if not hasattr(fitted, "predict"):
        raise ParameterError(f"need a model that predicts, got {type(fitted).__name__}")
    table = _rows(rows)
    found = table.append_column("predicted", pyarrow.array(fitted.predict(table)))  # type: ignore[attr-defined]
    write = pyarrow.parquet.write_table if out.suffix.lower() == ".parquet" else pyarrow.csv.write_csv
    write(found, out)
    typer.echo(f"wrote {found.num_rows} rows to {out}")


def _rows(file: Path) -> pyarrow.Table:
    """The rows of a file, which are the caller's own; every line of text must be one, since its prediction is."""
    import pyarrow
    import pyarrow.parquet

    from discreet.data.engines.sealing import read_whole
    from discreet.data.text_file import TextFile
    from discreet.errors import SourceError

    if not file.is_file():
        raise ParameterError(f"no file {str(file)!r}")
    whole = file.suffix.lower() == ".parquet"
    if not whole and file.suffix.lower() != ".csv":
        raise ParameterError(f"need rows in a file that ends in .parquet or .csv, got {file}")
    try:
        return pyarrow.parquet.read_table(file) if whole else read_whole(TextFile(str(file)))
    except (pyarrow.ArrowException, OSError):
        raise ParameterError(f"{file} cannot be read: it is no {'Parquet' if whole else 'CSV'} file") from None
    except SourceError as error:
        raise ParameterError(f"{file} cannot be read: it is no CSV file: {error}") from None
