"""The service under load, over HTTP on this machine: rates, the client's share, the timing channel, a hostile tenant.

One server with two worker processes and the load that is put on it share the machine.  Tables: a million people, one
row each; a million visits of 300,000 patients, whose rows are bounded and whose slot is twice as long; and a thousand
visits.  Times of replies are those a client sees.  The area under the curve (AUC) is that of telling, by the time of a
reply alone, whether a question was put to the table of a thousand rows or to that of a million: 0.5 is a guess.
"""

from __future__ import annotations

import http.client
import importlib.util
import json
import os
import socket
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from itertools import count
from pathlib import Path
from uuid import uuid4

from benchmarks import Row, absent, publish, size

SLOT, MARGIN, CHILDREN = 0.5, 0.1, size(6, quick=1)  # children of each of two workers
SECONDS = size(8.0, quick=1.0)  # of each load
PAIRS, WATCHES = size((240, 4), quick=(4, 2))  # replies a side, and who time them at once
REPLIES, TWICE = size((20, 40), quick=(2, 4))  # of a tenant, and of the client
MILLION = size(1_000_000, quick=10_000)
TRIES = 1000  # a machine that is busy withholds some answers; one that withholds so many gives none
FILE = """\
ledger = "ledger.db"

[budget]
epsilon = "1000000000"
delta = "1e-6"

[service]
workers = 2
children = {children}
slot = {slot}
margin = {margin}
rate = 100000000
log = "service.log"

[service.slots]
visits = 1.0
"""
TABLE = """
[tables.{name}]
source = "{source}.parquet"
{unit}
[tables.{name}.columns]
patient = {{ type = "identifier" }}
ward = {{ type = "categorical", values = ["cardiology", "oncology", "surgery"] }}
age = {{ type = "integer", low = 0, high = 119 }}
"""
UNIT = 'unit = "patient"\nrows_per_unit = 10\ngroups_per_unit = 3\n'
_EPSILONS = count(1)


def measure() -> list[Row]:
    """Every load in turn, on one server."""
    if lacking := [name for name in ("fastapi", "uvicorn", "jwt", "httpx") if importlib.util.find_spec(name) is None]:
        return [absent(f"the service: {', '.join(lacking)} is not installed")]
    with tempfile.TemporaryDirectory(prefix="discreet-bench-") as folder, _served(Path(folder)) as (port, token):
        for _ in range(2):  # every child has answered once
            _load(port, token, "people", threads=2 * CHILDREN, seconds=SECONDS / 4)
        return [
            *_explaining(port, token),
            *_asking(port, token, "people", least=20.0),
            *_asking(port, token, "visits", least=None),
            *_client(port, token),
            *_timing(port, token),
            *_hostile(port, token),
        ]


def _explaining(port: int, token: Callable[[str], str]) -> list[Row]:
    """Explanations that were given before, and new ones."""
    secret = token("explains")
    before = _processor()
    known = _rate(port, secret, "/v1/explain", lambda: _body("visits", epsilon=f"0.{next(_EPSILONS) % 50 + 1}"))
    each = (_processor() - before) / known[2]
    new = _rate(port, secret, "/v1/explain", lambda: _body("visits"))
    return [
        _at_least("explain, 50 questions over and over", known[0], "1/s", 200),
        Row(what="explain, each question new", value=new[0], unit="1/s"),
        Row(what="explain, median", value=known[1] * 1e3, unit="ms"),
        Row(what="explain, processor time of one, all processes", value=each * 1e3, unit="ms"),
    ]


def _asking(port: int, token: Callable[[str], str], table: str, *, least: float | None) -> list[Row]:
    """Questions, each paid for, as fast as the slots allow."""
    before = _processor()
    answered, withheld, seconds = _load(port, token, table, threads=2 * CHILDREN, seconds=SECONDS)
    each = (_processor() - before) / max(1, answered + withheld)
    rate = answered / seconds
    name = f"ask, a million {table}"
    first = Row(what=name, value=rate, unit="1/s") if least is None else _at_least(name, rate, "1/s", least)
    share = withheld / max(1, answered + withheld)
    return [
        first,
        Row(what=f"{name}: processor time of one, all processes", value=each * 1e3, unit="ms"),
        Row(what=f"{name}: withheld for time", value=share * 100, unit="%"),
    ]


def _client(port: int, token: Callable[[str], str]) -> list[Row]:
    """What `discreet.Client` adds to an answer that is given again."""
    from discreet.service.client import Client

    secret, sql = token("client"), "SELECT ward, COUNT(*) AS n FROM people GROUP BY ward"
    body = {"question": sql, "epsilon": "0.123"}
    line = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    if all(_post(line, secret, "/v1/ask", body) != 200 for _ in range(TRIES)):  # the first ones may be withheld
        raise TimeoutError(f"the service answered none of {TRIES} requests")
    with Client(f"http://127.0.0.1:{port}", token=secret) as client:
        raw, whole = [], []
        for _ in range(TWICE):  # in turn, so that both see the same machine
            key = {"Idempotency-Key": uuid4().hex}  # as the client sends
            raw.append(_timed(lambda key=key: _post(line, secret, "/v1/ask", body, key)))
            whole.append(_timed(lambda: client.ask(sql, epsilon="0.123")))
    line.close()
    added = (statistics.median(whole) - statistics.median(raw)) * 1e3
    return [_at_most("Client.ask, beyond the request itself", added, "ms", 5)]


def _timing(port: int, token: Callable[[str], str]) -> list[Row]:
    """Whether the time of a reply tells a small table from a large one."""
    secret = token("times")
    seconds: dict[str, list[float]] = {"few": [], "people": []}

    def ask() -> None:
        line = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
        for _ in range(PAIRS // WATCHES):
            for table, found in seconds.items():
                body = _body(table)
                found.append(_timed(lambda body=body: _post(line, secret, "/v1/ask", body)))
        line.close()

    threads = [threading.Thread(target=ask) for _ in range(WATCHES)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    area = auc(seconds["few"], seconds["people"])
    spread = abs(statistics.median(seconds["people"]) - statistics.median(seconds["few"])) * 1e3
    wide = 1.96 * ((2 * PAIRS + 1) / (12 * PAIRS * PAIRS)) ** 0.5  # of a guess, at 95 %
    return [
        Row(what="time of a reply: AUC of a thousand rows against a million", value=area, unit=""),
        Row(what="time of a reply: AUC within reach of a guess, at 95 %", value=0.5 + wide, unit="",
            promise="AUC <= this", holds=area <= 0.5 + wide),
        Row(what="time of a reply: difference of medians", value=spread, unit="ms"),
    ]  # fmt: skip


def _hostile(port: int, token: Callable[[str], str]) -> list[Row]:
    """One tenant's slowest replies, alone and beside another who sends all they can."""
    secret = token("quiet")
    alone = _slowest(port, secret)
    end = threading.Event()
    threads = [
        threading.Thread(target=_ask_until, args=(port, token("hostile"), "visits", end)) for _ in range(4 * CHILDREN)
    ]
    for thread in threads:
        thread.start()
    beside = _slowest(port, secret)
    end.set()
    for thread in threads:
        thread.join()
    return [
        Row(what="slowest of 20 replies, alone", value=alone, unit="s"),
        _at_most("the same beside a hostile tenant, ratio", beside / alone, "", 2),
    ]


def auc(first: list[float], second: list[float]) -> float:
    """How often a number of the second list is larger, whichever way round tells more.

    >>> auc([1.0, 2.0], [3.0, 4.0]), auc([1.0, 2.0], [1.0, 2.0])
    (1.0, 0.5)
    """
    wins = sum((a < b) + (a == b) / 2 for a in first for b in second) / (len(first) * len(second))
    return max(wins, 1 - wins)


def _slowest(port: int, secret: str) -> float:
    line = http.client.HTTPConnection("127.0.0.1", port, timeout=120)
    found = [_timed(lambda: _post(line, secret, "/v1/ask", _body("people"))) for _ in range(REPLIES)]
    line.close()
    return max(found)


def _load(
    port: int, token: Callable[[str], str], table: str, *, threads: int, seconds: float
) -> tuple[int, int, float]:
    """Answers, withheld ones, and the time they took, with so many who ask at once."""
    end, found = threading.Event(), list[int]()
    secrets = [token(f"analyst {number}") for number in range(threads)]
    running = [threading.Thread(target=_ask_until, args=(port, secret, table, end, found)) for secret in secrets]
    started = time.perf_counter()
    for thread in running:
        thread.start()
    time.sleep(seconds)
    end.set()
    for thread in running:
        thread.join()
    return found.count(200), found.count(424), time.perf_counter() - started


def _ask_until(port: int, secret: str, table: str, end: threading.Event, found: list[int] | None = None) -> None:
    line = http.client.HTTPConnection("127.0.0.1", port, timeout=120)
    while not end.is_set():
        status = _post(line, secret, "/v1/ask", _body(table))
        if found is not None:
            found.append(status)
    line.close()


def _rate(port: int, secret: str, path: str, body: Callable[[], dict[str, str]]) -> tuple[float, float, int]:
    """Requests a second from four connections, the median time of one, and how many there were."""
    seconds: list[float] = []
    end = time.perf_counter() + SECONDS / 2

    def work() -> None:
        line = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
        while time.perf_counter() < end:
            seconds.append(_timed(lambda: _post(line, secret, path, body())))
        line.close()

    threads = [threading.Thread(target=work) for _ in range(4)]
    started = time.perf_counter()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return len(seconds) / (time.perf_counter() - started), statistics.median(seconds), len(seconds)


def _body(table: str, *, epsilon: str | None = None) -> dict[str, str]:
    """A question that nobody has asked before, unless a price is given."""
    sql = f"SELECT ward, COUNT(*) AS n FROM {table} GROUP BY ward"
    return {"question": sql, "epsilon": epsilon or f"0.1{next(_EPSILONS):09d}"}


def _post(
    line: http.client.HTTPConnection, secret: str, path: str, body: object, more: dict[str, str] | None = None
) -> int:
    headers = {"Authorization": f"Bearer {secret}", "Content-Type": "application/json", **(more or {})}
    line.request("POST", path, json.dumps(body), headers)
    reply = line.getresponse()
    reply.read()
    return reply.status


def _processor() -> float:
    """Seconds of processor time of the server, its workers and all that they have started, so far."""
    seconds, known = {}, {}
    for place in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):
            fields = place.read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()
            number = int(place.parent.name)
            known[number], seconds[number] = int(fields[1]), sum(map(int, fields[11:15]))  # with children that ended
    mine = {os.getpid()}
    while more := {number for number, parent in known.items() if parent in mine} - mine:
        mine |= more
    return sum(seconds[number] for number in mine - {os.getpid()}) / os.sysconf("SC_CLK_TCK")


def _timed(work: Callable[[], object]) -> float:
    started = time.perf_counter()
    work()
    return time.perf_counter() - started


@contextmanager
def _served(folder: Path) -> Iterator[tuple[int, Callable[[str], str]]]:
    """A server, its port, and what makes tokens for it."""
    from discreet.service.settings import Settings
    from discreet.service.store import open_store
    from discreet.service.tokens import issue

    file = _written(folder)
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    argv = [sys.executable, "-m", "discreet.cli", "serve", "--curator", str(file), "--port", str(port)]
    with open_store(Settings.read(file)) as store:
        server = subprocess.Popen(argv, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            _ready(port, server)
            yield port, lambda name: issue(store, principal=name, role="analyst", days=1)
        finally:
            server.terminate()
            server.wait(timeout=120)


def _ready(port: int, server: subprocess.Popen[bytes]) -> None:
    for _ in range(600):
        if server.poll() is not None:
            raise RuntimeError(f"the service ended with code {server.returncode}")
        with suppress(OSError, http.client.HTTPException):
            line = http.client.HTTPConnection("127.0.0.1", port, timeout=5)
            line.request("GET", "/v1/ready")
            if line.getresponse().status == 200:
                return
        time.sleep(0.2)
    raise TimeoutError("the service did not come up")


def _written(folder: Path) -> Path:
    """The tables and the curator's file."""
    import numpy as np
    import pyarrow as pa
    import pyarrow.parquet as pq

    chance = np.random.default_rng(1)
    for source, rows in (("million", MILLION), ("thousand", 1_000)):
        columns = {
            "patient": chance.integers(0, rows * 3 // 10, rows),
            "ward": chance.choice(["cardiology", "oncology", "surgery"], rows),
            "age": chance.integers(0, 120, rows),
        }
        pq.write_table(pa.table(columns), folder / f"{source}.parquet")
    declared = {"people": ("million", ""), "visits": ("million", UNIT), "few": ("thousand", "")}
    tables = "".join(TABLE.format(name=name, source=source, unit=unit) for name, (source, unit) in declared.items())
    file = folder / "curator.toml"
    file.write_text(FILE.format(children=CHILDREN, slot=SLOT, margin=MARGIN) + tables, encoding="utf-8")
    return file


def _at_least(what: str, value: float, unit: str, least: float) -> Row:
    return Row(what=what, value=value, unit=unit, promise=f">= {least:g}", holds=value >= least)


def _at_most(what: str, value: float, unit: str, most: float) -> Row:
    return Row(what=what, value=value, unit=unit, promise=f"<= {most:g}", holds=value <= most)


if __name__ == "__main__":
    sys.exit(0 if publish("service", measure()) else 1)
