"""Options that several commands share, and how a price is read from them."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from discreet.cli.outcome import UsageError
from discreet.errors import ParameterError
from discreet.privacy.guarantee import ZCDP, ApproxDP, Guarantee, PureDP
from discreet.privacy.number import exact

if TYPE_CHECKING:
    from discreet.curator import Curator
    from discreet.service.client import Client

Sql = Annotated[str, typer.Argument(help="one SELECT over a declared table")]
File = Annotated[Path, typer.Option("--curator", "-c", help="the curator's file", envvar="DISCREET_CURATOR")]
Epsilon = Annotated[str | None, typer.Option(help="pay this much, with pure noise")]
Delta = Annotated[str | None, typer.Option(help="with --epsilon: allow this delta")]
Rho = Annotated[str | None, typer.Option(help="pay this much zCDP, with Gaussian noise")]
CapEpsilon = Annotated[str | None, typer.Option(help="the cap: all answers together may cost this much")]
CapDelta = Annotated[str | None, typer.Option(help="with --epsilon: the cap allows this delta")]
CapRho = Annotated[str | None, typer.Option(help="instead: a cap in zCDP")]
Json = Annotated[bool, typer.Option("--json", help="print JSON")]
Ways = Annotated[int | None, typer.Option(help="instead of SQL: all marginal tables of so many columns")]
Columns = Annotated[str | None, typer.Option(help="of these columns, separated by commas; all of them if not given")]
TableName = Annotated[str, typer.Argument(help="the name of a table")]
DEFAULT = Path("curator.toml")
Analyst = Annotated[str | None, typer.Option(help="who asks")]
Picture = Annotated[Path | None, typer.Option("--plot", help="write a picture: .svg, .png, .pdf or .html")]
Url = Annotated[
    str | None,
    typer.Option("--url", help="a service, with the token in DISCREET_TOKEN", envvar="DISCREET_URL"),
]


def opened(curator: Path, url: str | None) -> Curator | Client:
    """The curator of a file, or of a service."""
    if url is None:
        from discreet.curator import Curator

        return Curator.open(curator)
    if curator != DEFAULT:
        raise UsageError("need one of --curator (DISCREET_CURATOR) and --url (DISCREET_URL)")
    from discreet.cli.remote import connected

    return connected(url)


def price_of(epsilon: str | None, delta: str | None, rho: str | None, *, what: str = "price") -> dict[str, Guarantee]:
    """The budget that was typed."""
    for name, text in (("epsilon", epsilon), ("delta", delta), ("rho", rho)):
        try:
            exact(text or 0)
        except ParameterError as error:
            raise UsageError(f"--{name}: {error}") from None
    match epsilon, delta, rho:
        case (str(), None, None):
            return {"budget": PureDP(epsilon)}
        case (str(), str(), None):
            return {"budget": ApproxDP(epsilon, delta)}
        case (None, None, str()):
            return {"budget": ZCDP(rho)}
        case (None, None, None):
            raise UsageError(f"need a {what}: --epsilon E, --epsilon E --delta D, or --rho R")
        case (str(), _, str()):
            raise UsageError(f"give one of --epsilon and --rho: a {what} is in one of them")
        case _:
            raise UsageError(f"--delta goes with --epsilon: a {what} is --epsilon E --delta D, or --rho R alone")


def listed(columns: str | None) -> list[str] | None:
    """Names separated by commas."""
    return None if columns is None else [name.strip() for name in columns.split(",")]
