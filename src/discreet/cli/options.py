"""Options that several commands share, and how a price is read from them."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from discreet.errors import ParameterError
from discreet.privacy.guarantee import ZCDP, ApproxDP, Guarantee, PureDP

Sql = Annotated[str, typer.Argument(help="one SELECT over a declared table")]
File = Annotated[Path, typer.Option("--curator", "-c", help="the curator's file", envvar="DISCREET_CURATOR")]
Epsilon = Annotated[str | None, typer.Option(help="pay this much, with pure noise")]
Delta = Annotated[str | None, typer.Option(help="with --epsilon: allow this delta")]
Rho = Annotated[str | None, typer.Option(help="pay this much zCDP, with Gaussian noise")]
Json = Annotated[bool, typer.Option("--json", help="print JSON")]
Ways = Annotated[int | None, typer.Option(help="instead of SQL: all marginal tables of so many columns")]
Columns = Annotated[str | None, typer.Option(help="of these columns, separated by commas; all of them if not given")]
TableName = Annotated[str, typer.Argument(help="the name of a table")]
DEFAULT = Path("curator.toml")
Analyst = Annotated[str | None, typer.Option(help="who asks")]


def price_of(epsilon: str | None, delta: str | None, rho: str | None) -> dict[str, Guarantee]:
    """The budget that was typed."""
    match epsilon, delta, rho:
        case (str(), None, None):
            return {"budget": PureDP(epsilon)}
        case (str(), str(), None):
            return {"budget": ApproxDP(epsilon, delta)}
        case (None, None, str()):
            return {"budget": ZCDP(rho)}
        case _:
            raise ParameterError("need a price: --epsilon E, --epsilon E --delta D, or --rho R")


def listed(columns: str | None) -> list[str] | None:
    """Names separated by commas."""
    return None if columns is None else [name.strip() for name in columns.split(",")]
