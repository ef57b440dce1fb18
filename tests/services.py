"""Servers the tests need: a throw-away PostgreSQL, started once in a process and stopped at its end.

A test that cannot have its server fails and says what to install; it is never skipped.
"""

from __future__ import annotations

import ctypes
import os
import pwd
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import count
from pathlib import Path

import pytest

_NUMBERS = count(1)
START_S = 120  # seconds; a start takes about one
SETTINGS = {
    "listen_addresses": "127.0.0.1",
    "max_connections": "300",
    "shared_buffers": "64MB",
    "fsync": "on",
    "synchronous_commit": "on",
    "max_prepared_transactions": "0",
    "autovacuum": "off",  # nothing runs that a test did not ask for
}


def programs() -> Path:
    """The folder of `initdb` and `postgres`: Debian keeps them out of PATH."""
    found = shutil.which("postgres")
    folders = [Path(found).parent] if found else []
    folders += sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True)
    for folder in folders:
        if (folder / "initdb").exists() and (folder / "postgres").exists():
            return folder
    pytest.fail("need a PostgreSQL server for this test; call scripts/services.sh, or apt-get install postgresql")


def _account() -> pwd.struct_passwd:
    """Whom the server runs as: PostgreSQL refuses to be root."""
    if os.geteuid() != 0:
        return pwd.getpwuid(os.geteuid())
    for name in ("postgres", "nobody"):
        try:
            return pwd.getpwnam(name)
        except KeyError:
            continue
    pytest.fail("need an account named postgres to run PostgreSQL from root; apt-get install postgresql")


def _as(account: pwd.struct_passwd) -> dict[str, object]:
    """How a child becomes that account."""
    if os.geteuid() != 0:
        return {}
    return {"user": account.pw_uid, "group": account.pw_gid, "extra_groups": []}


def _dies_with_its_parent() -> None:
    """A server whose test run was killed is killed too (PR_SET_PDEATHSIG is 1)."""
    ctypes.CDLL(None).prctl(1, signal.SIGQUIT)


def free_port() -> int:
    """A port of 127.0.0.1 that nobody listens on now."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


@dataclass(frozen=True, kw_only=True, slots=True)
class Postgres:
    """A running server: data and socket in `folder`, everyone on this machine is let in."""

    folder: Path
    port: int
    process: subprocess.Popen[bytes]

    def url(self, database: str = "test") -> str:
        return f"postgresql://postgres@127.0.0.1:{self.port}/{database}"

    def execute(self, statement: str, *, database: str = "test") -> None:
        """Run one statement outside any transaction."""
        import psycopg

        with psycopg.connect(self.url(database), autocommit=True) as connection:
            connection.execute(statement)  # type: ignore[call-overload]

    def stop(self) -> None:
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGINT)  # fast shutdown: sessions are ended, data is synced
            try:
                self.process.wait(timeout=60)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait(timeout=60)


def start(folder: Path, settings: dict[str, str] | None = None) -> Postgres:
    """Start a server on the data in `folder`, which is made where it is missing."""
    programs_at, account, data = programs(), _account(), folder / "data"
    where = {"cwd": folder, "env": {"PATH": os.environ.get("PATH", ""), "LC_ALL": "C.UTF-8", "TZ": "UTC"}}
    if not data.exists():
        os.chown(folder, account.pw_uid, account.pw_gid)
        made = subprocess.run(
            [programs_at / "initdb", "--pgdata", data, "--username=postgres", "--auth=trust", "--encoding=UTF8",
             "--locale=C.UTF-8", "--no-sync"],
            stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=START_S, check=False,
            **where, **_as(account),
        )  # fmt: skip
        if made.returncode:
            pytest.fail(f"initdb failed as {account.pw_name}: {made.stderr}")
    chosen = SETTINGS | (settings or {}) | {"unix_socket_directories": str(folder)}
    options = [word for name, value in chosen.items() for word in ("-c", f"{name}={value}")]
    for _ in range(5):  # another process may take the port in between
        port = free_port()
        with (folder / "log").open("ab") as log:
            process = subprocess.Popen(
                [programs_at / "postgres", "-D", data, "-p", str(port), *options],
                stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True,
                preexec_fn=_dies_with_its_parent, **where, **_as(account),
            )  # fmt: skip
        server = Postgres(folder=folder, port=port, process=process)
        if _answers(server):
            return server
        server.stop()
    pytest.fail(f"PostgreSQL does not start: {(folder / 'log').read_text(errors='replace')[-2000:]}")


def _answers(server: Postgres) -> bool:
    import psycopg

    until = time.monotonic() + START_S
    while time.monotonic() < until and server.process.poll() is None:
        try:
            psycopg.connect(server.url("postgres"), connect_timeout=10).close()
        except psycopg.OperationalError:
            time.sleep(0.02)
        else:
            return True
    return False


@pytest.fixture(scope="session")
def postgres_server() -> Iterator[Postgres]:
    """A server with an empty database named test, for the whole run."""
    folder = Path(tempfile.mkdtemp(prefix="discreet-pg-"))  # short: the path of a socket has at most 107 bytes
    try:
        server = start(folder)
        try:
            server.execute("CREATE DATABASE test", database="postgres")
            yield server
        finally:
            server.stop()
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture(scope="session")
def postgres_url(postgres_server: Postgres) -> str:
    """The URL of one database that all tests of this process share."""
    return postgres_server.url()


@pytest.fixture
def fresh_postgres_url(postgres_server: Postgres) -> Iterator[str]:
    """The URL of an empty database that only this test has."""
    name = f"t{next(_NUMBERS)}"
    postgres_server.execute(f"CREATE DATABASE {name} TEMPLATE template0", database="postgres")
    yield postgres_server.url(name)
    postgres_server.execute(f"DROP DATABASE {name} WITH (FORCE)", database="postgres")
