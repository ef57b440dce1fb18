"""discreet.service.client against replies that are made up: what it sends, how often, and what it does not believe."""

from __future__ import annotations

import json
import random
import re
from decimal import Decimal
from fractions import Fraction

import httpx
import pytest

from discreet import Client, Curator
from discreet._version import __version__
from discreet.curator import config
from discreet.errors import BudgetExhausted, ParameterError, ServiceError, UnsupportedError
from discreet.learning import LogisticRegression
from discreet.privacy import ZCDP, ApproxDP
from discreet.queries import ranges
from discreet.service import client_answers, client_connection
from discreet.service.client import Client as Remote
from discreet.service.client_answers import agreed
from discreet.service.client_connection import RETRIES, Connection
from discreet.service.running.work import plain, written
from tests.scale import counts
from tests.service.conftest import hospital

MUTATIONS = counts(quick=200, full=5_000)
SQL = "SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward"
TOKEN = "dct_00112233_" + "s" * 43


class Fake:
    """A service in memory: the declarations and answers of a real curator, with faults on the way."""

    def __init__(self, curator):
        self.curator, self.sent, self.faults, self.waits = curator, [], [], []
        self.change = lambda document: document
        self.paid = {}  # answers by idempotency key: a key is paid for once
        self.status = 200

    def __call__(self, request):
        self.sent.append(request)
        path, fault = request.url.path, self.faults.pop(0) if self.faults else None
        if fault == "refused":
            raise httpx.ConnectError("no route")
        document = self._served(path, request)
        if fault == "lost":  # it was done, and the reply does not come
            raise httpx.ReadError("reset")
        return fault or httpx.Response(self.status if path == "/v1/ask" else 200, json=document)

    def _served(self, path, request):
        tables = self.curator.tables
        if path == "/v1/health":
            return {"status": "ok", "version": __version__}
        if path == "/v1/datasets":
            return {"datasets": [{"name": name} for name in tables]}
        if path.startswith("/v1/datasets/"):
            table = tables[path.rpartition("/")[2]]
            bounds = {"rows_per_unit": table.rows_per_unit, "groups_per_unit": table.groups_per_unit}
            return {"unit": table.unit, "version": table.version, "columns": table.domain.to_dict(), **bounds}
        if path == "/v1/explain":
            body = json.loads(request.content)
            return self.curator.explain(body["question"], error=body["error"]).to_dict()
        assert path == "/v1/ask"
        key = request.headers["Idempotency-Key"]
        if key not in self.paid:
            self.paid[key] = self._answer(json.loads(request.content))
        return self.change(json.loads(json.dumps(self.paid[key])))

    def _answer(self, body):
        asked = {name: body[name] for name in ("epsilon", "beta", "whole_counts") if name in body}
        answer = self.curator.ask(body["question"], fresh=True, **asked)
        price = {name: None if (v := getattr(answer.receipt.price, name)) is None else float(v) for name in PRICE}
        shown = answer.to_dict()
        return {
            "rows": plain(shown["rows"]), "beta": answer.beta, "cost": shown["cost"], "price": price,
            "receipt": written(answer.receipt), "statement": shown["statement"],
            "released": json.loads(answer.to_bytes()), "version": __version__,
        }  # fmt: skip


PRICE = ("epsilon", "rho", "delta")


@pytest.fixture(scope="module")
def tables(tmp_path_factory):
    file = hospital(tmp_path_factory.mktemp("rows"), rows=200)
    return config.tables(config.read(file), file.parent)


@pytest.fixture
def fake(tables, monkeypatch):
    with Curator(tables, budget=ApproxDP(2, 1e-6), ledger=":memory:") as curator:
        made = Fake(curator)

        def http(url, token, certificate, timeout):
            headers = {"Authorization": f"Bearer {token}"}
            return httpx.Client(base_url=url, headers=headers, transport=httpx.MockTransport(made))

        monkeypatch.setattr(client_connection, "_http", http)
        monkeypatch.setattr(client_connection.time, "sleep", made.waits.append)
        yield made


@pytest.fixture
def client(fake):
    with Client("http://127.0.0.1:1", token=TOKEN) as found:
        found.connection._wait = fake.waits.append
        fake.sent.clear()
        yield found


def test_a_lost_reply_is_fetched_again_under_the_same_key_and_paid_once(fake, client):
    fake.faults = ["lost", "refused", httpx.Response(503, json={}), "lost"]
    answer = client.ask(SQL, epsilon=0.1)

    assert len({request.headers["Idempotency-Key"] for request in fake.sent}) == 1
    assert len(fake.sent) == 5
    assert len(fake.paid) == 1
    assert fake.curator.budget["patient"].balance.spent.epsilon * 10 == 1
    assert answer.receipt.id == 3
    assert fake.waits == sorted(fake.waits)


def test_the_twin_that_draws_a_key_for_each_attempt_pays_for_each(fake, client):
    fake.faults = ["lost"] * 3
    for _ in range(3):
        with pytest.raises(httpx.ReadError):
            client.connection.http.post(
                "/v1/ask", json={"question": SQL, "epsilon": 0.1}, headers={"Idempotency-Key": f"{len(fake.sent)}"}
            )

    assert len(fake.paid) == 3


def test_two_calls_have_two_keys(fake, client):
    client.ask(SQL, epsilon=0.1)
    client.ask(SQL, epsilon=0.1, fresh=True)

    assert len({request.headers["Idempotency-Key"] for request in fake.sent}) == 2


def test_no_reply_at_all_says_that_asking_again_is_safe(fake, client):
    fake.faults = ["lost"] * (RETRIES + 1)

    with pytest.raises(ServiceError, match=r"no reply from http://127\.0\.0\.1:1: ReadError; ask again") as caught:
        client.ask(SQL, epsilon=0.1)
    assert (caught.value.kind, caught.value.charged) == ("unreachable", None)


def test_what_was_to_be_drawn_afresh_is_not_promised_free(fake, client):
    fake.faults = ["lost"] * (RETRIES + 1)

    with pytest.raises(ServiceError, match=r"ReadError; it may have been paid for: ask again without fresh") as caught:
        client.ask(SQL, epsilon=0.1, fresh=True)
    assert "is kept, and given free" not in str(caught.value)
    (paid,) = fake.paid.values()
    again = fake.curator.ask(SQL, epsilon=0.1)  # as the sentence says
    assert again.receipt.id == paid["receipt"]["id"]


def test_a_refusal_after_a_lost_reply_does_not_say_that_nothing_was_paid(fake, client):
    ended = httpx.Response(401, json={"type": "urn:discreet:problem:unauthenticated", "detail": "the token is revoked"})
    fake.faults = ["lost", ended]

    with pytest.raises(ServiceError, match="revoked") as caught:
        client.ask(SQL, epsilon=0.1)
    assert caught.value.charged is None
    fake.faults = [ended]
    with pytest.raises(ServiceError, match="revoked") as caught:
        client.ask(SQL, epsilon=0.2)
    assert caught.value.charged is False


@pytest.mark.parametrize("error", [Fraction(100), Decimal(100), "100", 100.0])
def test_an_error_may_be_any_number(fake, client, error):
    question = "SELECT COUNT(*) AS n FROM visits"
    found = client.explain(question, error=error)

    assert found.epsilon == fake.curator.explain(question, error=100).epsilon
    assert json.loads(fake.sent[-1].content)["error"] == 100.0


@pytest.mark.parametrize("error", ["many", "1e400", Decimal("1e400"), float("nan"), 0, None])
def test_an_error_that_is_no_number_is_refused_here(fake, client, error):
    with pytest.raises(ParameterError):
        client.explain("SELECT COUNT(*) AS n FROM visits", error=error)
    assert fake.sent == []


def test_a_busy_service_is_waited_for_as_long_as_it_says(fake, client):
    fake.faults = [httpx.Response(429, json={}, headers={"Retry-After": "7"})]
    client.ask(SQL, epsilon=0.1)

    assert fake.waits == [7.0]


def test_redirections_are_not_followed(fake, client):
    fake.faults = [httpx.Response(307, headers={"Location": "http://elsewhere.example.org/v1/ask"})]

    with pytest.raises(ServiceError, match="not of a discreet service"):
        client.ask(SQL, epsilon=0.1)
    assert {request.url.host for request in fake.sent} == {"127.0.0.1"}


def test_the_token_is_in_the_header_and_nowhere_else(fake, client):
    fake.faults = ["refused"] * (RETRIES + 1)
    with pytest.raises(ServiceError) as caught:
        client.ask(SQL, epsilon=0.1)
    request = fake.sent[0]

    assert request.headers["Authorization"] == f"Bearer {TOKEN}"
    assert TOKEN not in str(request.url) + request.content.decode() + repr(client) + repr(client.connection)
    assert TOKEN not in str(caught.value)


@pytest.mark.parametrize(
    "url", ["http://private.example.org", "ftp://127.0.0.1", "127.0.0.1:8000", "https://me:secret@example.org", ""]
)
def test_a_token_is_not_sent_in_the_clear_or_to_what_is_no_service(url):
    with pytest.raises(ParameterError, match="need"):
        Connection(url, TOKEN)


def test_url_and_token_may_be_in_the_environment(fake, monkeypatch):
    monkeypatch.setenv("DISCREET_URL", "http://localhost:9")
    monkeypatch.setenv("DISCREET_TOKEN", TOKEN)

    assert repr(Client()) == "Client('http://localhost:9')"


@pytest.mark.parametrize("gone", ["DISCREET_URL", "DISCREET_TOKEN"])
def test_without_them_there_is_no_client(monkeypatch, gone):
    monkeypatch.setenv("DISCREET_URL", "http://localhost:9")
    monkeypatch.setenv("DISCREET_TOKEN", TOKEN)
    monkeypatch.delenv(gone)

    with pytest.raises(ParameterError, match="DISCREET_URL and DISCREET_TOKEN"):
        Client()


def test_another_version_of_the_service_is_a_clear_error(fake, monkeypatch):
    monkeypatch.setattr("discreet.service.client_wire.__version__", "9.9")

    with pytest.raises(ServiceError, match=rf"runs discreet {re.escape(__version__)} and this is 9\.9") as caught:
        Client("http://127.0.0.1:1", token=TOKEN)
    assert caught.value.kind == "version"


def test_a_price_that_waits_for_approval_says_so(fake, client):
    fake.change, fake.status = lambda _: {"approval": "a17", "state": "waiting"}, 202

    with pytest.raises(ServiceError, match=r"approve this first \(approval a17\); then ask the same again") as caught:
        client.ask(SQL, epsilon=0.1)
    assert (caught.value.kind, caught.value.charged) == ("approval", False)


@pytest.mark.parametrize(
    ("slug", "status", "error"),
    [("parameter", 400, ParameterError), ("unsupported", 400, UnsupportedError), ("withheld", 424, ServiceError)],
)
def test_problems_are_the_curators_errors_again(fake, client, slug, status, error):
    problem = {"type": f"urn:discreet:problem:{slug}", "title": "A title", "status": status, "detail": "a sentence"}
    fake.faults = [httpx.Response(status, json=problem, headers={"Content-Type": "application/problem+json"})]

    with pytest.raises(error, match="a sentence") as caught:
        client.ask(SQL, epsilon=0.1)
    assert getattr(caught.value, "charged", False) is (slug == "withheld")


def test_an_exhausted_budget_tells_what_was_left(fake, client):
    problem = {"type": "urn:discreet:problem:budget-exhausted", "detail": "said", "requested": 1, "remaining": 0.5}
    fake.faults = [httpx.Response(409, json=problem)]

    with pytest.raises(BudgetExhausted, match="said") as caught:
        client.ask(SQL, epsilon=0.1)
    assert (caught.value.requested, caught.value.remaining) == (1, 0.5)


def _set(*path, to):
    def change(document):
        place = document
        for step in path[:-1]:
            place = place[step]
        place[path[-1]] = to
        return document

    return change


def _nudged(document):
    document["released"]["noisy"][0][0] += 1
    return document


TAMPERED = {
    "a count": _set("rows", 0, "n", to=10**6),
    "an interval": _set("rows", 0, "n_low", to=-1.0),
    "a group": _set("rows", 0, "ward", to="surgery"),
    "a row too few": lambda document: document | {"rows": document["rows"][:-1]},
    "a released number": _nudged,
    "a number that is none": _set("released", "noisy", 0, 0, to="7"),
    "a truth value": _set("released", "noisy", 0, 0, to=True),
    "a fraction": _set("released", "noisy", 0, 0, to=7.5),
    "a cell too few": _set("released", "noisy", 0, to=[1, 2]),
    "a part too few": _set("released", "noisy", to=[]),
    "named groups": _set("released", "groups", to=[["x", 0]]),
    "another form": _set("released", "version", to=2),
    "nothing released": _set("released", to=None),
    "the price": _set("price", "epsilon", to=0.01),
    "the other lane": _set("price", "rho", to=0.0),
    "the cost": _set("cost", to="PureDP(epsilon=0.01)"),
    "the statement": _set("statement", to="Private, whatever that means."),
    "beta": _set("beta", to=0.5),
    "the version": _set("version", to="0.0.1"),
    "the receipt": _set("receipt", to={"id": "3"}),
}


@pytest.mark.parametrize("name", TAMPERED)
def test_a_tampered_answer_is_refused(fake, client, name):
    fake.change = TAMPERED[name]

    with pytest.raises(ServiceError, match=r"changed|another version|same version|can read"):
        client.ask(SQL, epsilon=0.1)
    assert len(fake.paid) == 1


def _places(value, path=()):
    """Every place in a document."""
    yield path
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for name, one in inner:
        yield from _places(one, (*path, name))


def _mutated(document, chance):
    """The document with one place changed, removed or doubled."""
    copy = json.loads(json.dumps(document))
    *path, last = chance.choice([path for path in _places(copy) if path])
    place = copy
    for step in path:
        place = place[step]
    other = [None, True, -1, 0, 7, 2**80, 0.5, 1e300, "", "7", [], {}, [[1]], {"epsilon": 0}]
    if chance.random() < 0.2:
        del place[last]
    elif isinstance(place, list) and chance.random() < 0.2:
        place.insert(last, place[last])
    else:
        place[last] = chance.choice([one for one in other if one != place[last]])
    return copy


def test_whatever_is_changed_in_a_reply_it_is_refused_or_changes_nothing(fake, client):
    answer, chance = client.ask(SQL, epsilon=0.1), random.Random(45)
    (document,) = fake.paid.values()
    shown, refused = answer.errors().to_pylist(), 0
    for _ in range(MUTATIONS):
        try:
            found = client_answers.answer_of(answer.plan, _mutated(document, chance), beta=0.05, whole_counts=False)
        except ServiceError:
            refused += 1
        else:
            assert found.errors().to_pylist() == shown  # a receipt has a number and a hash that nobody can check here
            assert found.cost == answer.cost

    assert refused > MUTATIONS * 2 / 3


def test_the_twin_that_trusts_what_it_is_told_shows_a_tampered_answer(fake, client, monkeypatch):
    def trusting(step, told, *, beta, whole_counts):
        return told["rows"]

    monkeypatch.setattr("discreet.service.client.answer_of", trusting)
    fake.change = TAMPERED["a count"]

    assert client.ask(SQL, epsilon=0.1)[0]["n"] == 10**6


def test_an_untouched_answer_is_taken(fake, client):
    answer = client.ask(SQL, epsilon=0.1, whole_counts=True)

    assert answer.table.num_rows == 3
    assert min(answer.table["n"].to_pylist()) >= 0


def test_a_declaration_that_changed_after_the_question_is_read_again(fake, client):
    """The answer is paid for: it is read with the new declaration, and not thrown away."""
    old = client.tables["visits"]
    client.tables["visits"] = type(old)(None, domain=old.domain, unit=None)
    answer = client.ask(SQL, epsilon=0.1)

    assert answer.plan.rows == 2
    assert len(fake.paid) == 1


def test_what_cannot_cross_is_refused_before_anything_is_sent(fake, client):
    tables = client.marginals("visits", 1, columns=["ward"])
    ages = ranges(client.tables["visits"].domain.project(["age"]))

    class Mine(LogisticRegression):
        pass

    refused = [
        lambda: client.session(table="visits", budget=ZCDP(0.1), queries=3),
        lambda: client.oracle(table="visits", queries=3, epsilon=0.1),
        lambda: client.synthesize_linked(tables=["visits", "payroll"], epsilon=0.1),
        lambda: client.release(tables, table="visits", epsilon=0.1, mechanism=lambda *a, **b: None),
        lambda: client.release(tables, table="visits", epsilon=0.1, n=7),
        lambda: client.release(ages, table="visits", epsilon=0.1),
        lambda: client.synthesize(table="visits", epsilon=0.1, workload=tables),
        lambda: client.synthesize(table="visits", columns=["ward"], epsilon=0.1, checkpoint="here"),
        lambda: client.synthesize(table="visits", columns=["ward"], epsilon=0.1, progress="loud"),
        lambda: client.ask(SQL, epsilon=0.1, analyst="somebody else"),
        lambda: client.fit(Mine(), table="visits", target="readmitted", epsilon=0.1),
    ]
    for ask in refused:
        with pytest.raises((UnsupportedError, ParameterError)):
            ask()
    assert fake.sent == []


def test_close_compares_rows_and_nothing_else():
    assert client_answers.close([{"a": None, "b": 0.1 + 0.2}], [{"a": None, "b": 0.3}])
    assert not client_answers.close([{"a": 0}], [{"a": None}])
    assert not client_answers.close([{"a": 0}], [{"b": 0}])
    assert not client_answers.close([1, 2], [1])
    assert issubclass(Client, Remote)


def test_a_question_with_hardly_any_noise_is_explained(fake):
    """At so large an epsilon the usual error is zero, which no ratio may be taken of."""
    assert "nothing was spent" in str(fake.curator.explain("SELECT COUNT(*) AS n FROM payroll", epsilon=50))


def test_an_explanation_tells_what_the_service_doubts_of_its_cap(fake):
    found = fake.curator.explain("SELECT COUNT(*) AS n FROM visits", epsilon=1)
    doubt = "the cap's delta 0.5 is not far below 1/n"
    told = found.to_dict() | {"doubts": [*found.doubts, doubt, 7]}

    assert agreed(found, told).doubts == (*found.doubts, doubt)
    assert f"careful: {doubt}" in str(agreed(found, told))
    assert agreed(found, found.to_dict()).doubts == found.doubts
