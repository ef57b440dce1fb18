"""Commands to begin with: init, demo."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from discreet.cli.options import DEFAULT, CapDelta, CapEpsilon, CapRho, price_of
from discreet.cli.places import to_write
from discreet.terminal import shown


def init(
    source: Annotated[Path, typer.Argument(help="a Parquet or CSV file")],
    unit: Annotated[str | None, typer.Option(help="the column that names the privacy unit; none: each row")] = None,
    epsilon: CapEpsilon = None,
    delta: CapDelta = None,
    rho: CapRho = None,
    declaration: Annotated[Path | None, typer.Option(help="a TOML file with the columns")] = None,
    rows_per_unit: Annotated[int, typer.Option(min=1, help="at most so many rows of one unit")] = 1,
    groups_per_unit: Annotated[int, typer.Option(min=1, help="at most so many groups of one unit")] = 1,
    out: Annotated[Path, typer.Option("-o", "--out", help="the file to write")] = DEFAULT,
    force: Annotated[bool, typer.Option("--force", help="replace the file")] = False,  # noqa: FBT002 - a flag
) -> None:
    """Write a curator's file.  Bounds are left blank unless declared: they are never read off the data."""
    from discreet.curator.delta import doubts
    from discreet.curator.start import start

    cap = price_of(epsilon, delta, rho, what="cap")  # refuses a wrong one before anything is written
    to_write(out)
    amounts = {"epsilon": epsilon, "delta": delta, "rho": rho}
    bounds = {"rows_per_unit": rows_per_unit, "groups_per_unit": groups_per_unit}
    blanks = start(source, unit=unit, budget=amounts, declaration=declaration, bounds=bounds, out=out, force=force)
    typer.echo(f"wrote {out}" + (f"; fill in {blanks} blank bounds from public knowledge" if blanks else ""))
    for doubt in doubts(cap["budget"], None, what="the cap's delta"):
        typer.echo(f"careful: {doubt}", err=True)


def demo(
    folder: Annotated[Path, typer.Argument(help="where to write the data and the report")] = Path("out/demo"),
    visits: Annotated[int, typer.Option(min=1, help="how many visits to make up")] = 1_000_000,
) -> None:
    """Make a hospital, ask it five questions, write a report."""
    from discreet.curator.demo import demo as run

    typer.echo(f"report: {run(folder, shown, visits=visits)}")
