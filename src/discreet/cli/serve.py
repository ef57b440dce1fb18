"""The command that serves a curator over HTTP."""

from __future__ import annotations

import shlex
import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from discreet.cli.options import DEFAULT, File

if TYPE_CHECKING:
    from discreet.service.settings import Settings


def serve(
    curator: File = DEFAULT,
    host: Annotated[str | None, typer.Option(help="the address to listen on; off loopback only with TLS")] = None,
    port: Annotated[int | None, typer.Option(help="the port; 0 takes a free one")] = None,
    workers: Annotated[int | None, typer.Option(help="processes that serve HTTP")] = None,
    behind_proxy: Annotated[  # noqa: FBT002 - a flag
        bool, typer.Option("--behind-proxy", help="a proxy before this service has the certificate")
    ] = False,
) -> None:
    """Serve a curator over HTTP, with a console for browsers; its settings are in the section service of the file."""
    from discreet.service.serve import serve as run
    from discreet.service.settings import Settings

    given = {"host": host, "port": port, "workers": workers, "behind_proxy": behind_proxy or None}
    if sys.stderr.isatty():  # elsewhere standard error is a log of JSON lines
        settings = replace(
            Settings.read(curator), **{name: value for name, value in given.items() if value is not None}
        )
        settings.may_listen()
        typer.echo(invitation(settings, curator), err=True)
    run(curator, **given)


def invitation(settings: Settings, curator: Path) -> str:
    """Where the console will be, and how to sign in, in one line.

    >>> from discreet.service.settings import Settings
    >>> print(invitation(Settings(), DEFAULT))
    open http://127.0.0.1:8000 and sign in with a token: discreet token issue --principal NAME --role steward;
    Ctrl+C ends the service
    """
    where = f"http{'s' * (settings.tls_certificate is not None)}://{_bracketed(settings.host)}:{settings.port}"
    at = f"open {where}" if settings.port else "open the address that the log tells, at a free port,"
    file = "" if curator == DEFAULT else f" --curator {shlex.quote(str(curator))}"
    return (
        f"{at} and sign in with a token: discreet token issue --principal NAME --role steward{file};"
        " Ctrl+C ends the service"
    )


def _bracketed(host: str) -> str:
    """A host as an address has it: of IPv6 in brackets."""
    return f"[{host}]" if ":" in host else host
