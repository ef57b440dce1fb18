"""What clients do to servers over real sockets: the same request to two servers at once, hang up, and send rubbish.

Two servers, each with its own socket, serve one file at the same time.  The ledger is the witness of charges, and the
kernel of memory and of processes that have died.
"""

from __future__ import annotations

import json
import random
import socket
import struct
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path

import httpx
import pytest

from discreet.curator.config import ledger
from tests.scale import counts
from tests.service.conftest import hospital
from tests.service.serving import Service

SERVICE = "\n[service]\nchildren = 3\nslot = 2.0\nmargin = 1.0\nrate = 1000000\nqueue = 1000\nmemory = 1024\n"
SLOT = 2.0
KEYS = counts(quick=2, full=20)
EACH = counts(quick=12, full=500)  # duplicates of one request: 10,000 in all
KILLS = counts(quick=0, full=10)
HANGUPS = counts(quick=3, full=200)
ROUNDS = counts(quick=1, full=40)
PATIENCE = 120.0
COUNT = "SELECT COUNT(*) AS n FROM visits"


@pytest.fixture(scope="module")
def pair(tmp_path_factory):
    """Two servers of one file."""
    file = hospital(tmp_path_factory.mktemp("pair"), rows=300, service=SERVICE)
    file.write_text(file.read_text().replace('epsilon = "2"\ndelta = "1e-6"', 'epsilon = "100000"'))
    services = [Service(file), Service(file)]
    try:
        for service in services:
            service.start()
        for service in services:
            service.ready()
        yield services
    finally:
        for service in services:
            service.stop()
            service.socket.close()


def spends(service: Service, principal: str) -> int:
    """How often a principal was charged."""
    with ledger(service.file, verify=False) as book:
        records = [entry.record for entry in book.entries()]
    return sum(one["kind"] == "spend" and one["analyst"] == principal for one in records)


def asked(service: Service, token: str, key: str | None, **more: object) -> httpx.Response:
    """One question, sent until the server has a reply that stands."""
    headers = {"Authorization": f"Bearer {token}"} | ({} if key is None else {"Idempotency-Key": key})
    body = {"question": COUNT, "epsilon": "0.01", "fresh": True, **more}
    end = time.monotonic() + 300
    while time.monotonic() < end:
        with suppress(httpx.TransportError):
            reply = httpx.post(
                f"{service.url}/v1/ask", json=body, headers=headers, timeout=60, trust_env=False, verify=False
            )
            if reply.status_code not in (429, 503):
                return reply
        time.sleep(0.1)
    raise AssertionError(f"no reply in five minutes: {service.log()}")


def several(replies: list[httpx.Response]) -> list[str]:
    """What is wrong with replies to duplicates: they must be one answer, or word that it is withheld.

    An answer that was stored too late to be told is told to whoever asks again: withheld, and then answered.
    """
    codes = {reply.status_code for reply in replies}
    told = {json.dumps(reply.json()["released"]) for reply in replies if reply.status_code == 200}
    return [f"statuses {sorted(codes)}"] * (not codes <= {200, 424}) + [f"{len(told)} answers"] * (len(told) > 1)


def test_duplicates_to_two_servers_at_once_are_one_charge_and_one_reply(pair, record_property):
    """In `make acceptance` servers are killed meanwhile.  The twin, without keys, pays for each of its two."""
    token, twin = pair[0].token("dup"), pair[0].token("twin")
    sent = [f"key-{n}" for n in range(KEYS) for _ in range(EACH)]
    done = threading.Event()

    def kills() -> None:
        chance = random.Random(34)
        for number in range(KILLS):
            if done.wait(chance.uniform(1, 8)):
                return
            pair[number % 2].kill()
            pair[number % 2].start()

    with ThreadPoolExecutor(25) as pool:
        killer = pool.submit(kills)
        found = list(pool.map(lambda place, key: asked(pair[place % 2], token, key), range(len(sent)), sent))
        done.set()
        killer.result(timeout=PATIENCE)
        careless = list(pool.map(lambda service: asked(service, twin, None), pair))
    by_key = {key: [one for one, name in zip(found, sent, strict=True) if name == key] for key in dict.fromkeys(sent)}
    record_property("replies", {code: sum(one.status_code == code for one in found) for code in (200, 424)})

    assert {key: several(replies) for key, replies in by_key.items()} == {key: [] for key in by_key}
    assert spends(pair[0], "dup") == KEYS
    assert spends(pair[0], "twin") == 2
    assert several(careless) == ["2 answers"] or 424 in {reply.status_code for reply in careless}


def _hang_up(service: Service, token: str, key: str, after: float) -> None:
    """Send a question and reset the connection, as a client does whose machine is switched off."""
    body = json.dumps({"question": COUNT, "epsilon": "0.01", "fresh": True}).encode()
    head = [
        "POST /v1/ask HTTP/1.1",
        "Host: discreet",
        f"Authorization: Bearer {token}",
        f"Idempotency-Key: {key}",
        "Content-Type: application/json",
        f"Content-Length: {len(body)}",
        "",
        "",
    ]
    with socket.create_connection(service.socket.getsockname(), timeout=PATIENCE) as line:
        line.sendall("\r\n".join(head).encode() + body)
        time.sleep(after)
        line.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))  # no farewell


def test_whoever_hangs_up_has_paid_once_and_is_told_under_the_key(pair, record_property):
    """At moments spread over the slot; what was charged then is neither given back nor charged again."""
    token, chance = pair[0].token("hangup"), random.Random(35)
    keys = [f"h{number}" for number in range(HANGUPS)]
    moments = [chance.uniform(0.2, 1.2) * SLOT * number / HANGUPS for number in range(HANGUPS)]

    def one(key: str, moment: float) -> list[httpx.Response]:
        _hang_up(pair[0], token, key, moment)
        return [asked(service, token, key) for service in (pair[1], pair[0])]

    with ThreadPoolExecutor(8) as pool:
        replies = list(pool.map(one, keys, moments))

    codes = [tuple(reply.status_code for reply in both) for both in replies]
    record_property("replies", {pair: codes.count(pair) for pair in sorted(set(codes))})

    assert [several(both) for both in replies] == [[] for _ in replies]
    assert (200, 424) not in codes  # what was told once is told again
    assert spends(pair[0], "hangup") == HANGUPS


def _raw(service: Service, data: bytes, *, wait: float = 20.0) -> bytes:
    """What a server says to these bytes, until it closes the line or has nothing to say for a while."""
    said = b""
    with suppress(OSError), socket.create_connection(service.socket.getsockname(), timeout=wait) as line:
        with suppress(OSError):  # it may close before it has read all of it
            line.sendall(data)
        while part := line.recv(65536):
            said += part
    return said


def _posted(path: str, token: str, body: bytes, *, length: int | None = None, more: str = "") -> bytes:
    size = f"Content-Length: {len(body) if length is None else length}\r\n"
    head = f"POST {path} HTTP/1.1\r\nHost: discreet\r\nAuthorization: Bearer {token}\r\n{more}"
    return f"{head}Content-Type: application/json\r\n{size}Connection: close\r\n\r\n".encode() + body


def hostile(token: str, chance: random.Random) -> dict[str, bytes]:
    """Requests that want to break something."""
    values = ", ".join(map(str, range(15_000)))
    questions = {
        "a long list": f"SELECT COUNT(*) AS n FROM visits WHERE age IN ({values})",
        "deep brackets": f"SELECT COUNT(*) AS n FROM visits WHERE {'(' * 40_000}age > 1{')' * 40_000}",
        "a long chain": "SELECT COUNT(*) AS n FROM visits WHERE " + " AND ".join(["age <> 1"] * 7_000),
        "many aggregates": f"SELECT {', '.join(f'SUM(age) AS s{n}' for n in range(4_000))} FROM visits",
        "many groups": "SELECT age, ward, cost, COUNT(*) AS n FROM visits GROUP BY age, ward, cost",
        "many negations": f"SELECT COUNT(*) AS n FROM visits WHERE {'NOT ' * 20_000}age > 1",
        "a star of joins": "SELECT COUNT(*) AS n FROM visits" + " JOIN visits USING (patient)" * 200,
    }
    made = {}
    for path in ("/v1/explain", "/v1/ask"):
        for name, text in questions.items():
            made[f"{path} {name}"] = _posted(path, token, json.dumps({"question": text, "epsilon": "1e-9"}).encode())
        made[f"{path} a megabyte"] = _posted(path, token, b'{"question": "' + b"x" * 2**20 + b'"}')
        made[f"{path} deep JSON"] = _posted(path, token, b"[" * 100_000 + b"]" * 100_000)
        made[f"{path} a long number"] = _posted(path, token, b'{"question": "q", "epsilon": ' + b"9" * 100_000 + b"}")
        made[f"{path} half a body"] = _posted(path, token, b'{"question"', length=11)
        made[f"{path} NUL"] = _posted(path, token, b'{"question": "\\u0000\\ud800", "epsilon": 1}')
    chunk = b"10000\r\n" + b"x" * 0x10000 + b"\r\n"
    chunked = "POST /v1/ask HTTP/1.1\r\nHost: discreet\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\n"
    return made | {
        "a megabyte in pieces": chunked.encode() + chunk * 16 + b"0\r\n\r\n",
        "a head without end": b"GET /v1/health HTTP/1.1\r\nX: " + b"x" * 300_000,
        "many headers": b"GET /v1/health HTTP/1.1\r\n" + b"X: y\r\n" * 20_000 + b"\r\n",
        "two lengths": _posted("/v1/ask", token, b"{}", more="Content-Length: 5\r\n"),
        "not HTTP": chance.randbytes(10_000),
        "TLS": b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + chance.randbytes(500),
        "a long address": b"GET /" + b"a" * 60_000 + b" HTTP/1.1\r\nHost: discreet\r\nConnection: close\r\n\r\n",
    }


def _statuses(said: bytes) -> list[int]:
    """The statuses of what a server said; none where it closed the line without a word."""
    return [int(line.split()[1]) for line in said.split(b"\r\n") if line.startswith(b"HTTP/1.1 ")]


def _peak(pid: int) -> int:
    """The most memory that a process had resident, in kB."""
    text = Path(f"/proc/{pid}/status").read_text()
    return int(text.partition("VmHWM:")[2].split()[0])


def test_hostile_requests_crash_nothing_take_no_more_than_twice_the_memory_and_leave_a_service_that_answers(
    pair, record_property
):
    """Beside clients that send their heads and bodies a byte at a time, and never to the end."""
    service, honest = pair[0], pair[0].token("honest")
    answered(service, honest)
    processes = [process.pid for process in service.processes]
    nurseries, before = sorted(service.nurseries()), _peak(processes[0])
    requests = hostile(service.token("mallory"), random.Random(43))
    slow = [socket.create_connection(service.socket.getsockname(), timeout=PATIENCE) for _ in range(100)]
    try:
        for number, line in enumerate(slow):
            line.sendall(b"POST /v1/ask HTT" if number % 2 else _posted("/v1/ask", honest, b'{"quest', length=1000))
        with ThreadPoolExecutor(8) as pool:
            names = list(requests) * ROUNDS
            said = dict(zip(names, pool.map(lambda name: _statuses(_raw(service, requests[name])), names), strict=True))
        during = answered(service, honest)
    finally:
        for line in slow:
            line.close()
    after = answered(service, honest)
    record_property("said", {name: codes for name, codes in said.items() if codes})
    record_property("kilobytes", [before, _peak(processes[0])])

    assert {name: codes for name, codes in said.items() if any(code >= 500 for code in codes)} == {}
    assert {name: codes for name, codes in said.items() if "/v1/" in name and len(codes) != 1} == {}  # all were served
    assert {name: codes for name, codes in said.items() if 200 in codes and "/v1/ask" in name} == {}
    assert [process.pid for process in service.processes if process.poll() is None] == processes
    assert sorted(service.nurseries()) == nurseries
    assert _peak(processes[0]) <= 2 * before
    assert (during, after) == (200, 200)
    assert spends(service, "mallory") == 0


def answered(service: Service, token: str) -> int:
    """The status of a question that is asked until it is not late."""
    reply = asked(service, token, None)
    for _ in range(20):
        if reply.status_code != 424:
            break
        reply = asked(service, token, None)
    return reply.status_code
