"""Commands for tokens: issue, list, revoke.  They work on the service's records, on the machine that has them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from discreet.cli.options import DEFAULT, File, Json, listed

if TYPE_CHECKING:
    from discreet.service.store import Store

app = typer.Typer(help="Who may ask a service.", no_args_is_help=True)
Names = Annotated[str | None, typer.Option(help="an analyst's datasets, separated by commas; all if not given")]


@app.command("issue")
def issue(
    principal: Annotated[str, typer.Option(help="whose token it is; charges are made in this name")],
    role: Annotated[str, typer.Option(help="steward, analyst or auditor")],
    days: Annotated[int, typer.Option(help="how long it is good")] = 30,
    datasets: Names = None,
    curator: File = DEFAULT,
) -> None:
    """Make a token and print it: it is shown this once."""
    from discreet.service import tokens

    with _store(curator) as store:
        given = {"principal": principal, "role": role, "days": days, "datasets": listed(datasets)}
        typer.echo(tokens.issue(store, **given))


@app.command("list")
def show(curator: File = DEFAULT, as_json: Json = False) -> None:  # noqa: FBT002 - a flag
    """List tokens, without their secrets."""
    from discreet.service import tokens

    with _store(curator) as store:
        found = [token.to_dict() for token in tokens.listed(store)]
    if as_json:
        typer.echo(json.dumps(found, indent=2))
        return
    for token in found:
        state = "revoked" if token["revoked"] else f"until {token['expires']}"
        seen = "all datasets" if token["datasets"] is None else ", ".join(token["datasets"])  # type: ignore[arg-type]
        typer.echo(f"{token['id']}  {token['principal']}  {token['role']}  {seen}  {state}")


@app.command("revoke")
def revoke(
    number: Annotated[str, typer.Argument(metavar="ID", help="the eight characters after dct_")],
    curator: File = DEFAULT,
) -> None:
    """End a token, and the sessions it opened, at once."""
    from discreet.service import tokens

    with _store(curator) as store:
        tokens.revoke(store, number)
    typer.echo(f"revoked {number}")


def _store(curator: Path) -> Store:
    from discreet.service.settings import Settings
    from discreet.service.store import open_store

    return open_store(Settings.read(curator))
