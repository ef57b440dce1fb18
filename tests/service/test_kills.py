"""Servers killed while they answer, and many clients near the cap: paid once, answered once, never unpaid.

Questions are asked over HTTP by several clients, each with a key of its own, while servers with all their children are
killed without warning and started again.  Then the ledger is read.
"""

from __future__ import annotations

import hashlib
import json
import os
import random
import signal
import threading
import time
from collections import defaultdict
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from fractions import Fraction

import httpx
import pytest

from discreet.curator.config import ledger, tables
from discreet.curator.config import read as settings
from discreet.curator.question import read
from tests.scale import counts
from tests.service.conftest import hospital
from tests.service.serving import serving

EPSILON = Fraction(1, 100)
CLIENTS = counts(quick=2, full=8)
SERVICE = "\n[service]\nchildren = 2\nslot = 2.0\nmargin = 1.0\nrate = 1000000\nqueue = 1000\n"
SETTLED = (200, 424)  # answered, withheld


def question(number: int) -> str:
    return f"SELECT COUNT(*) AS n FROM visits WHERE age <> {number % 120} AND cost <> {number}"


class Asker:
    """A client that does not give up: one question, one key, until there is a reply of one of the two shapes."""

    def __init__(self, service, token):
        self.service, self.token, self.last = service, token, ""

    def ask(self, number: int) -> httpx.Response:
        headers = {"Authorization": f"Bearer {self.token}", "Idempotency-Key": f"question-{number}"}
        body = {"question": question(number), "epsilon": str(EPSILON)}
        end = time.monotonic() + 300
        while time.monotonic() < end:
            try:
                with httpx.Client(base_url=self.service.url, timeout=60, trust_env=False) as http:
                    reply = http.post("/v1/ask", json=body, headers=headers)
            except httpx.TransportError:
                time.sleep(0.02)
                continue
            if reply.status_code in SETTLED:
                return reply
            assert reply.status_code in (429, 503), reply.text
            self.last = reply.text
            time.sleep(0.2)
        raise AssertionError("no reply in five minutes")


class Book:
    """What the ledger holds: spends by question, and the digests of stored answers by spend."""

    def __init__(self, file):
        self.spends, self.digests = defaultdict(list), {}
        self.tables = tables(settings(file), file.parent)
        with ledger(file, verify=False) as book:
            book.verify()
            for record in (entry.record for entry in book.entries()):
                if record["kind"] == "spend":
                    self.spends[record["query"]].append(record["id"])
                elif record["kind"] == "answer":
                    self.digests[record["of"]] = record["digest"]
            self.spent = book.budget("patient").balance.spent.epsilon

    def canonical(self, number: int) -> str:
        """A question as the ledger has it."""
        return str(read(question(number), self.tables))

    def unpaid(self, answers) -> list[int]:
        """The answers that no spend, or no stored answer with these very numbers, stands behind."""
        return [number for number, document in answers.items() if not self._stands(number, document)]

    def _stands(self, number, document) -> bool:
        paid, receipt = self.spends[self.canonical(number)], document["receipt"]["id"]
        stored = hashlib.sha256(json.dumps(document["released"]).encode()).hexdigest()
        return receipt in paid and self.digests.get(receipt) == stored

    def double(self) -> list[str]:
        """The questions that were charged for more than once."""
        return [query for query, ids in self.spends.items() if len(ids) > 1]


KILLS = counts(quick=3, full=1000)
WORKERS = counts(quick=2, full=4)
EVERY = counts(quick=3, full=10)  # so many kills, one of them of a whole server and the others of one of its children


def test_after_kills_every_answer_was_paid_for_once(tmp_path, record_property):
    """Of several servers on one socket one is killed with all its children, or a child in the middle of its order."""
    chance, killed = random.Random(29), {"servers": 0, "children": 0}
    with serving(_generous(hospital(tmp_path, rows=500, service=SERVICE)), workers=WORKERS) as service:
        asker, answers, withheld, numbers = Asker(service, service.token()), {}, [], iter(range(10**6))
        stop, lock, started = threading.Event(), threading.Lock(), time.monotonic()

        def client() -> None:
            while not stop.is_set():
                with lock:
                    number = next(numbers)
                reply = asker.ask(number)
                if reply.status_code == 200:
                    answers[number] = reply.json()
                else:
                    withheld.append(number)

        with ThreadPoolExecutor(CLIENTS) as pool:
            running = [pool.submit(client) for _ in range(CLIENTS)]
            try:
                for number in range(KILLS):
                    _settled(running, asker, answers, withheld, more=1)
                    time.sleep(chance.uniform(0, 0.5))  # anywhere in the slots that are under way
                    killed[_kill(service, chance, whole=number % EVERY == 0)] += 1
                _settled(running, asker, answers, withheld, more=1)
            finally:
                stop.set()
            for found in running:
                found.result(timeout=600)
        record_property("seconds", round(time.monotonic() - started))
        again = {number: asker.ask(number).json() for number in list(answers)[-3:]}
        book = Book(service.file)
        _careless(service, asker.token)
    record_property("killed", killed)
    record_property("answers", len(answers))
    record_property("withheld", len(withheld))

    assert answers
    assert killed["servers"] >= KILLS // EVERY
    assert book.unpaid(answers) == []
    assert book.double() == []
    assert book.spent == len(book.spends) * EPSILON  # and nothing was charged for what nobody asked
    assert len(book.spends) <= len(answers) + len(withheld)
    for number, document in again.items():  # the key of an answer is the answer
        assert document["released"] == answers[number]["released"]
        assert document["receipt"]["id"] == answers[number]["receipt"]["id"]
    _twins(book, answers)
    assert book.canonical(0) in Book(service.file).double()


def _generous(file):
    """With budget for every question that is asked while servers are killed."""
    file.write_text(file.read_text().replace('epsilon = "2"\ndelta = "1e-6"', 'epsilon = "100000"'))
    return file


def _kill(service, chance, *, whole: bool) -> str:
    """Kill a server, and start another; or one child of a server that has some."""
    children = [child for family in service.families().values() for child in family]
    if whole or not children:
        service.kill_one(chance.randrange(len(service.processes)))
        service.start()
        return "servers"
    with suppress(ProcessLookupError):
        os.kill(chance.choice(children), signal.SIGKILL)
    return "children"


def _settled(running, asker, answers, withheld, *, more: int) -> None:
    """Wait until so many more questions have their reply."""
    end, before = time.monotonic() + 300, len(answers) + len(withheld)
    while len(answers) + len(withheld) < before + more:
        for found in running:
            if found.done():
                found.result()
        assert time.monotonic() < end, f"nothing happened for five minutes: {asker.last} {asker.service.log()}"
        time.sleep(0.02)


def _careless(service, token) -> None:
    """The twin of a client with keys: it asks anew where it has lost a reply."""
    body = {"question": question(0), "epsilon": str(EPSILON), "fresh": True}
    headers = {"Authorization": f"Bearer {token}"}
    for _ in range(2):
        httpx.post(f"{service.url}/v1/ask", json=body, headers=headers, timeout=120, trust_env=False)


def _twins(book, answers) -> None:
    """Answers without a spend, with another's, or with other numbers than were stored, would have been noticed."""
    number, document = next(iter(answers.items()))
    unpaid = {number: document | {"receipt": {"id": 10**6}}}
    changed = {number: document | {"released": {"version": 1, "noisy": [[7]], "groups": None}}}

    assert book.unpaid(unpaid) == [number]
    assert book.unpaid(changed) == [number]


ATTEMPTS = counts(quick=64, full=12_000)
AT_ONCE = 64
NAMES = 16  # principals


@pytest.fixture(params=["sqlite", "postgresql"])
def scarce(request, tmp_path):
    file = hospital(tmp_path, rows=500, service=SERVICE)
    text = file.read_text().replace('epsilon = "2"\ndelta = "1e-6"', 'epsilon = "0.095"')
    if request.param == "postgresql":
        text = text.replace('ledger = "ledger.db"', f'ledger = "{request.getfixturevalue("fresh_postgres_url")}"')
    file.write_text(text)
    with serving(file, workers=WORKERS) as found:
        yield found


def test_many_clients_of_several_servers_get_exactly_what_the_cap_holds(scarce, record_property):
    """Every attempt is another question; nine fit under the cap, whoever is first."""
    tokens = [scarce.token(f"analyst {number}") for number in range(NAMES)]

    def attempt(http: httpx.Client, number: int) -> int:
        headers = {"Authorization": f"Bearer {tokens[number % NAMES]}"}
        body = {"question": question(number), "epsilon": str(EPSILON)}
        end = time.monotonic() + 300
        while time.monotonic() < end:
            reply = http.post("/v1/ask", json=body, headers=headers)
            if reply.status_code not in (429, 503):
                return reply.status_code
            time.sleep(0.1)
        return 0

    def client(first: int) -> list[int]:
        with httpx.Client(base_url=scarce.url, timeout=120, trust_env=False) as http:  # to any of the servers
            return [attempt(http, number) for number in range(first, ATTEMPTS, AT_ONCE)]

    started = time.monotonic()
    with ThreadPoolExecutor(AT_ONCE) as pool:
        statuses = [status for found in pool.map(client, range(AT_ONCE)) for status in found]
    book = Book(scarce.file)
    record_property("statuses", {status: statuses.count(status) for status in sorted(set(statuses))})
    record_property("seconds", round(time.monotonic() - started))

    assert sum(map(len, book.spends.values())) == 9  # of 1/100 in 95/1000
    assert book.spent == 9 * EPSILON
    assert 1 <= statuses.count(200) <= 9 <= statuses.count(200) + statuses.count(424)
    assert statuses.count(200) + statuses.count(424) + statuses.count(409) == ATTEMPTS
    assert statuses.count(409) >= 1
