"""Commands of the ledger: what was spent, by whom, and what a steward may change."""

from __future__ import annotations

import json
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from discreet.cli.options import (
    DEFAULT,
    CapDelta,
    CapEpsilon,
    CapRho,
    File,
    Json,
    TableName,
    Url,
    opened,
    price_of,
)
from discreet.cli.places import to_write
from discreet.errors import LedgerError
from discreet.terminal import shown

if TYPE_CHECKING:
    from discreet.ledger import Anchor, Entry

Kept = Annotated[Path | None, typer.Option(help="an anchor kept elsewhere (JSON)")]
Reason = Annotated[str, typer.Option(help="why; it is kept in the ledger")]
Yes = Annotated[bool, typer.Option("--yes", help="do not ask again")]
UnitName = Annotated[str | None, typer.Option(help="its privacy unit, if the ledger does not know the table yet")]
app = typer.Typer(help="What has been spent.", no_args_is_help=True)


class Form(StrEnum):
    """How a report is written."""

    html = "html"
    json = "json"


@app.command("show")
def show(curator: File = DEFAULT, url: Url = None, as_json: Json = False) -> None:  # noqa: FBT002 - a flag
    """Show caps, what is spent and what is left, lane by lane."""
    from discreet.curator.balance import balances, rich_balances
    from discreet.service.client import Client

    with opened(curator, url) as found:
        records = found.balances() if isinstance(found, Client) else balances(found)
    typer.echo(json.dumps(records, indent=2)) if as_json else shown(rich_balances(records))


@app.command("verify")
def verify(curator: File = DEFAULT, anchor: Kept = None) -> None:
    """Replay the whole ledger and check every hash; with an anchor, that nothing was rolled back."""
    from discreet.curator.config import ledger

    with ledger(curator, verify=False) as book:
        found = book.verify(anchor=_anchor(anchor))
    typer.echo(f"the ledger is whole: {found.id + 1} entries, last hash {found.hash}")


@app.command("export")
def export(curator: File = DEFAULT) -> None:
    """Print every entry as a line of JSON."""
    from discreet.curator.config import ledger

    with ledger(curator) as book:
        for line in book.export():
            typer.echo(line)


@app.command("anchor")
def anchor(curator: File = DEFAULT) -> None:
    """Print number and hash of the last entry, to keep outside: it makes a rollback visible."""
    from discreet.curator.config import ledger

    with ledger(curator) as book:
        last = book.anchor()
    typer.echo(json.dumps({"id": last.id, "hash": last.hash}))


@app.command("report")
def report(
    out: Annotated[Path, typer.Option("-o", "--out", help="the file to write")],
    form: Annotated[Form, typer.Option("--format", help="a page to read, or JSON")] = Form.html,
    curator: File = DEFAULT,
    anchor: Kept = None,
) -> None:
    """Write a report for an auditor: promises, caps, what was spent by whom, every entry, and whether all is whole."""
    from discreet.curator.config import ledger

    kept = _anchor(anchor)
    to_write(out)
    with ledger(curator, verify=False) as book:
        found = book.report(anchor=kept)
    out.write_text(found.to_html() if form is Form.html else found.to_json() + "\n", encoding="utf-8")
    typer.echo(f"wrote {out}")
    if not found.verified:
        raise LedgerError(found.finding)


@app.command("top-up")
def top_up(
    unit: Annotated[str, typer.Argument(help="whose cap is raised")],
    reason: Reason,
    epsilon: CapEpsilon = None,
    delta: CapDelta = None,
    rho: CapRho = None,
    curator: File = DEFAULT,
    yes: Yes = False,  # noqa: FBT002 - a flag
) -> None:
    """Raise a cap.  The promise to everybody, also for what was released before, becomes the larger one."""
    from discreet.curator.config import ledger

    cap = price_of(epsilon, delta, rho, what="cap")["budget"]
    with ledger(curator) as book:
        before = book.budget(unit).present.cap
        _agreed(
            f"Every {unit} was promised {before}. From now on the promise is {cap}, for all answers ever given.", yes
        )
        _entered(book.top_up(unit, cap, reason=reason))
    typer.echo(f"now state the new budget in {curator}")


@app.command("renew")
def renew(
    unit: Annotated[str, typer.Argument(help="whose budget is renewed")],
    period: Annotated[str, typer.Option(help="the name of the new period, such as 2027")],
    reason: Reason,
    epsilon: CapEpsilon = None,
    delta: CapDelta = None,
    rho: CapRho = None,
    curator: File = DEFAULT,
    yes: Yes = False,  # noqa: FBT002 - a flag
) -> None:
    """Begin a period with a cap of its own.  Over all periods a person may lose the sum; what was left lapses."""
    from discreet.curator.config import ledger

    cap = price_of(epsilon, delta, rho, what="cap")["budget"]
    with ledger(curator) as book:
        before = book.budget(unit).balance.cap
        _agreed(f"Over all periods every {unit} was promised {before}. The new period adds {cap} to that.", yes)
        _entered(book.renew(unit, period=period, cap=cap, reason=reason))
        typer.echo(f"over all periods: {book.budget(unit).balance.cap}")


@app.command("retire")
def retire(
    table: TableName,
    reason: Reason,
    unit: UnitName = None,
    curator: File = DEFAULT,
    yes: Yes = False,  # noqa: FBT002
) -> None:
    """Refuse further spends on a table.  What was spent stays spent."""
    from discreet.curator.config import ledger

    with ledger(curator) as book:
        _agreed(f"Nobody will be able to ask about {table} any more.", yes)
        _entered(book.retire(table, reason=reason, unit=unit))


@app.command("reopen")
def reopen(
    table: TableName,
    reason: Reason,
    unit: UnitName = None,
    curator: File = DEFAULT,
    yes: Yes = False,  # noqa: FBT002
) -> None:
    """Take spends on a retired table again.  Nothing starts anew."""
    from discreet.curator.config import ledger

    with ledger(curator) as book:
        _agreed(f"Questions about {table} will be taken again, from what is left.", yes)
        _entered(book.reopen(table, reason=reason, unit=unit))


@app.command("erase")
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

    with ledger(curator) as book:
        _agreed(f"The rows are deleted from {table}, which is now version {version}. What was spent stays spent.", yes)
        _entered(book.erase(table, version=version, requests=requests, unit=unit))


@app.command("recover")
def recover(reason: Reason, curator: File = DEFAULT, yes: Yes = False) -> None:  # noqa: FBT002 - a flag
    """Book what a lost ledger had spent, from its witness: in an old copy that was put back, or in a new ledger."""
    from discreet.curator.config import place, read, witness
    from discreet.ledger import Ledger

    settings = read(curator)
    where, seen_by = place(settings, curator.parent), witness(settings, curator.parent)
    if seen_by is None:
        raise LedgerError(f"{curator} names no witness: only a witness knows what a lost ledger had spent")
    _agreed(
        "All that the witness has seen will be booked. What was asked of an old copy after it was put back, without its"
        " witness, is not known to it: if there was any of that, say no, and retire the tables.",
        yes,
    )
    with Ledger.recover(where, witness=seen_by, reason=reason) as book:
        typer.echo("\n".join(str(book.budget(unit)) for unit in book.units()))
        last = book.anchor()
    typer.echo(f"entry {last.id}, hash {last.hash}")


@app.command("forked")
def forked(
    first: Annotated[str, typer.Argument(help="a ledger: a file, or a URL")],
    second: Annotated[str, typer.Argument(help="another copy of it")],
    as_json: Json = False,  # noqa: FBT002 - a flag
) -> None:
    """Tell where two copies of a ledger part, and what both have spent; nothing is changed."""
    from discreet.ledger import Ledger
    from discreet.ledger.forked import parting

    with Ledger.open(first, create=False) as one, Ledger.open(second, create=False) as other:
        found = parting(one, other)
    typer.echo(json.dumps(found.to_dict(), indent=2) if as_json else str(found))


@app.command("witness")
def witness(
    reason: Reason,
    end: Annotated[bool, typer.Option("--end", help="go on without any witness")] = False,  # noqa: FBT002 - a flag
    curator: File = DEFAULT,
    yes: Yes = False,  # noqa: FBT002 - a flag
) -> None:
    """Begin the ledger's witness anew, after it was lost; it will believe the ledger as it stands."""
    from discreet.curator import config
    from discreet.ledger import Ledger

    settings = config.read(curator)
    where, named = config.place(settings, curator.parent), config.witness(settings, curator.parent)
    if named is None and not end:
        raise LedgerError(f"{curator} names no witness; name it under [ledger], or say --end")
    _agreed(
        "Without a witness an old copy of the ledger will be believed."
        if end
        else "The witness will believe the ledger as it stands. If it is an old copy, what it forgot is forgotten.",
        yes,
    )
    with Ledger.open(where, create=False) as book:
        _entered(book.witness_anew(None if end else named, reason=reason))


def _anchor(file: Path | None) -> Anchor | None:
    from discreet.ledger import Anchor

    if file is None:
        return None
    try:
        return Anchor.read(file.read_text(encoding="utf-8"))
    except UnicodeDecodeError:
        raise LedgerError(f"{file} is no anchor: it is not text") from None


def _agreed(consequence: str, yes: bool) -> None:  # noqa: FBT001 - what was typed
    """Say what will be true afterwards, and go on only if that is wanted."""
    typer.echo(consequence)
    if not yes:
        typer.confirm("Go on?", abort=True)


def _entered(entry: Entry) -> None:
    typer.echo(f"entry {entry.id}, hash {entry.hash}")
