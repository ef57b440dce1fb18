"""The command that measures: this machine in seconds, or everything beside its peers in minutes."""

from __future__ import annotations

import importlib
import json
import sys
from dataclasses import asdict
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Annotated, Any

import typer

from discreet.cli.options import DEFAULT, File, Json, Picture
from discreet.errors import ParameterError
from discreet.terminal import shown, waiting

if TYPE_CHECKING:
    import altair as alt

Found = dict[str, Any]
WANTED = {">": "larger is better", "<": "smaller is better", "": "promised neither way"}


def bench(
    visits: Annotated[int, typer.Option(min=1, help="rows of the made-up table")] = 1_000_000,
    peers: Annotated[bool, typer.Option("--peers", help="the whole table, beside other systems (long)")] = False,  # noqa: FBT002
    only: Annotated[str | None, typer.Option(help="of that table, these benchmarks: noise,medians")] = None,
    out: Annotated[Path, typer.Option("-o", "--out", help="with --peers: where figures and picture go")] = Path(
        "out/bench"
    ),
    swept: Annotated[
        str | None, typer.Option("--sweep", help="error against budget of this estimator, on mock rows")
    ] = None,
    curator: File = DEFAULT,
    table: Annotated[str | None, typer.Option(help="with --sweep: a declared table")] = None,
    column: Annotated[str | None, typer.Option(help="with --sweep: the target, or the column of a median")] = None,
    rows: Annotated[int, typer.Option(min=10, help="with --sweep: mock rows")] = 2000,
    plot: Picture = None,
    as_json: Json = False,  # noqa: FBT002 - a flag
) -> None:
    """Measure this machine; with --peers, every algorithm beside other systems and beside the limit.

    With --sweep NAME: error against budget of an estimator, on mock rows of a declared table; nothing is read or spent.

    Systems that are not installed are left out: the extra named bench brings those that can live together.
    """
    if swept is not None:
        _sweep(swept, curator, table, column, rows, plot, as_json)
        return
    if peers or only is not None:
        _beside_peers(_chosen(only), out)
        return
    from discreet.curator.speed import speed

    with waiting("measuring ..."):
        figures = speed(visits=visits)
    found = [{"what": what, "value": value, "unit": unit} for what, value, unit in figures]
    lines = [f"{what:45} {value:10.1f} {unit}" for what, value, unit in figures]
    typer.echo(json.dumps(found, indent=2) if as_json else "\n".join(lines))


def _sweep(
    name: str,
    curator: Path,
    table: str | None,
    column: str | None,
    rows: int,
    plot: Path | None,
    as_json: bool,  # noqa: FBT001
) -> None:
    """Error against budget on mock rows of a declared table; no row is read and nothing is spent."""
    from discreet.curator import config
    from discreet.curator.sweep import sweep

    held = config.tables(config.read(curator), curator.parent)
    chosen = next(iter(held)) if table is None and len(held) == 1 else table
    if chosen not in held:
        raise ParameterError(f"need --table, one of {', '.join(held)}, got {table!r}")
    with waiting(f"{name} on mock rows ..."):
        found = sweep(held[chosen], name, column=column, rows=rows)
    if plot is not None:
        found.save(plot)
    typer.echo(json.dumps(found.to_dicts(), indent=2) if as_json else str(found))


def _benchmarks() -> ModuleType:
    """The benchmarks, which travel with the package but are no part of it."""
    for place in (Path(__file__).parents[1] / "_bench", Path(__file__).parents[3]):  # installed; a clone
        if (place / "benchmarks/__init__.py").is_file():
            sys.path.insert(0, str(place))
            return importlib.import_module("benchmarks")
    raise ParameterError("the benchmarks are not installed with this copy; run `make bench` in a clone")


def _chosen(only: str | None) -> list[str]:
    """The names of the benchmarks to run."""
    there = _benchmarks().names()
    if only is None:
        return there
    wanted = [name.strip() for name in only.split(",")]
    for name in wanted:
        if name not in there:
            raise ParameterError(f"no benchmark {name!r}; there are {', '.join(there)}")
    return wanted


def _beside_peers(names: list[str], out: Path) -> None:
    """Run them one after another; a promise that does not hold is an exit code of 1."""
    out.mkdir(parents=True, exist_ok=True)
    benchmarks, held, figures = _benchmarks(), True, []
    for at, name in enumerate(names):
        with waiting(f"{name} ({at + 1} of {len(names)}) ..."):
            rows = benchmarks.run(name, folder=out)
        held &= rows is not None and (benchmarks.is_quick() or all(row.holds is not False for row in rows))
        figures += [asdict(row) | {"benchmark": name} for row in rows or []]
    picture = ratios(figures)
    if picture is not None:
        picture.save(str(out / "ratios.svg"))
    shown(f"figures and picture: {out}")
    if not held:
        raise typer.Exit(1)


def ratios(figures: list[Found]) -> alt.LayerChart | alt.FacetChart | None:
    """Ratios as bars from 1, on a logarithmic scale, by what is wanted of each; None where nothing is a ratio.

    >>> figure = {"what": "a count: discreet / OpenDP", "value": 40.0, "unit": "x", "promise": ">= 10"}
    >>> ratios([figure | {"benchmark": "groups"}]).data.values[0]["wanted"]
    'larger is better'
    """
    import altair as alt

    shared = [figure for figure in figures if figure["unit"] == "x" and figure["value"] > 0]
    if not shared:
        return None
    named: dict[str, int] = {}
    values = []
    for figure in shared:
        name = f"{figure['benchmark']}: {figure['what'].strip()}"
        named[name] = named.get(name, 0) + 1
        again = "" if named[name] == 1 else f" ({named[name]})"
        wanted = _wanted(figure.get("promise", ""))
        values.append({"name": name + again, "value": figure["value"], "wanted": wanted, "from": 1})
    base = alt.Chart(alt.Data(values=values))
    y = alt.Y("name:N", title=None, sort=None, axis=alt.Axis(labelLimit=520))
    colours = alt.Scale(domain=list(WANTED.values()), range=["#1f77b4", "#e6862a", "#9a9a9a"])
    bars = base.mark_bar().encode(  # stacked bars would begin at 0, which a logarithmic axis does not have
        x=alt.X("value:Q", title="ratio", scale=alt.Scale(type="log"), stack=None),
        x2=alt.X2("from:Q"),
        y=y,
        color=alt.Color("wanted:N", title=None, scale=colours),
    )
    ends = base.mark_tick(thickness=2).encode(x="value:Q", y=y, color="wanted:N")  # a ratio of 1 is seen too
    return alt.layer(bars, ends).properties(width=480, title="ratios that were measured, from 1")


def _wanted(promise: str) -> str:
    """Which way is better, as far as something was promised."""
    return WANTED.get(promise[:1], WANTED[""])
