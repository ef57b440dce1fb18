"""`discreet serve`: uvicorn with one or several worker processes, each with its own children.

The ledger is verified once, before any worker starts.  Off loopback there is TLS, or a proxy that has it, or no
service.  Workers are told what to serve by their environment, which holds paths and no secret; on SIGTERM each
finishes what it has begun.
"""

from __future__ import annotations

import json
import os
import signal
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from discreet.curator import config
from discreet.errors import UnsupportedError
from discreet.service import log
from discreet.service.settings import Settings

if TYPE_CHECKING:
    from fastapi import FastAPI

PATH, OVERRIDES = "DISCREET_SERVE_CURATOR", "DISCREET_SERVE_OVERRIDES"
GRACE = 30  # seconds that a worker has to finish what it has begun
LIMITS = {  # of what a connection may take, whoever is at its other end
    "http": "discreet.service.connections:Deadlined",
    "ws": "none",
    "timeout_keep_alive": 30,  # seconds after which a connection between two requests is closed
    "h11_max_incomplete_event_size": 64 * 1024,  # bytes of a head
    "limit_concurrency": 1000,  # connections of one worker; to more the answer is 503
}


def serve(path: Path, **given: object) -> None:
    """Serve the curator of a file until a signal ends it; what is given and not None overrides its [service]."""
    said = {name: value for name, value in given.items() if value is not None}
    settings = replace(Settings.read(path), **said)
    settings.may_listen()
    try:
        import uvicorn
    except ImportError:
        raise UnsupportedError("a service needs FastAPI and uvicorn: pip install 'discreet[service]'") from None
    with config.load(path):  # the whole ledger is verified, once
        pass
    log.set_up(settings.log)
    with _environment(path.absolute(), said):
        uvicorn.run(
            "discreet.service.serve:worker",
            factory=True,
            host=settings.host,
            port=settings.port,
            workers=settings.workers,
            ssl_certfile=settings.tls_certificate,
            ssl_keyfile=settings.tls_key,
            proxy_headers=settings.behind_proxy,
            forwarded_allow_ips="*" if settings.behind_proxy else None,
            access_log=False,
            server_header=False,
            log_config=None,
            timeout_graceful_shutdown=GRACE,
            **LIMITS,
        )


def worker() -> FastAPI:
    """The application of one worker process, as its environment says."""
    from discreet.service.app import create_app

    path = Path(os.environ[PATH])
    settings = replace(Settings.read(path), **json.loads(os.environ[OVERRIDES]))
    log.set_up(settings.log)
    return create_app(path, settings)


@contextmanager
def _environment(path: Path, said: dict[str, object]) -> Iterator[None]:
    """What workers inherit: the file, what overrides it, and a folder for their counters."""
    with tempfile.TemporaryDirectory(prefix="discreet-metrics-") as counters:
        added = {PATH: str(path), OVERRIDES: json.dumps(said), "PROMETHEUS_MULTIPROC_DIR": counters}
        before = {name: os.environ.get(name) for name in added}
        os.environ.update(added)
        signal.signal(signal.SIGTERM, _ended)  # uvicorn raises the signal again when it is done
        try:
            yield
        finally:
            for name, value in before.items():
                os.environ.pop(name) if value is None else os.environ.__setitem__(name, value)


def _ended(number: int, frame: object) -> None:
    """End in order: what was made for the workers is cleared away."""
    raise SystemExit(0)
