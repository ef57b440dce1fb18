"""discreet.service.problems: every error, one shape, and nothing in it that a reply must not hold."""

from __future__ import annotations

import inspect
import json
import sys
from fractions import Fraction

import pytest

from discreet import errors
from discreet.composition.filter import Lanes
from discreet.composition.price import Price
from discreet.errors import BudgetExhausted, DiscreetError, LedgerError, ParameterError
from discreet.ledger import Account, Remainder
from discreet.service.problems import LONGEST, SLUGS, URN, Problem, amounts, conflicts, problem_of, response_of
from discreet.service.wire import BLOCK
from tests.service.inline import Inline

LEFT = Remainder(Account("patient", "analyst", "ada"), Lanes(Fraction(1, 4), None, Fraction(0)))
EXHAUSTED = BudgetExhausted(requested=Price(Fraction(1, 2), Fraction(1, 8), Fraction(0)), remaining=LEFT)
OURS = {name: thing for name, thing in vars(errors).items() if inspect.isclass(thing) and issubclass(thing, Exception)}
EXPECTED = {
    "ParameterError": "parameter",
    "DomainError": "domain",
    "SourceError": "domain",  # children tell it in words of their own
    "UnsupportedError": "unsupported",
    "BudgetExhausted": "budget-exhausted",
    "LedgerError": "unavailable",
    "EntropyError": "unavailable",
    "ServiceError": "withheld",
    "DiscreetError": "withheld",
}


def _made(kind):
    if kind is BudgetExhausted:
        return EXHAUSTED
    return kind("said", kind="unreadable") if kind.__name__ == "ServiceError" else kind("said")


def _right(problem):
    """The one shape."""
    slug = str(problem["type"]).removeprefix(URN)
    status, title = SLUGS[slug]
    assert set(problem) >= {"type", "title", "status", "detail", "instance"}
    assert set(problem) <= {"type", "title", "status", "detail", "instance", "remedy", "requested", "remaining"}
    assert (problem["status"], problem["title"]) == (status, title)
    assert isinstance(problem["detail"], str)
    assert problem["detail"]
    assert len(problem["detail"]) <= LONGEST + 4
    return slug


@pytest.mark.parametrize("name", OURS)
def test_every_error_of_ours_has_a_problem(name):
    assert _right(problem_of(_made(OURS[name]))) == EXPECTED[name]


@pytest.mark.parametrize("error", [ValueError, KeyError, OSError, RecursionError, MemoryError, RuntimeError])
def test_an_error_that_is_not_ours_is_told_without_its_words(error):
    found = problem_of(error("a private value"))

    assert _right(found) == "unavailable"
    assert "private" not in json.dumps(found)


@pytest.mark.parametrize("slug", SLUGS)
def test_every_slug_is_a_response_of_its_own(slug):
    reply = response_of(problem_of(Problem(slug, "said")), headers={"Retry-After": "3"})

    assert _right(json.loads(reply.body)) == slug
    assert reply.media_type == "application/problem+json"
    assert (reply.status_code == 401) == ("WWW-Authenticate" in reply.headers)
    assert reply.headers["Retry-After"] == "3"


def test_a_budgets_refusal_says_what_was_asked_and_what_is_left():
    found = problem_of(EXHAUSTED)

    assert found["requested"] == {"epsilon": 0.5, "rho": 0.125, "delta": 0.0}
    assert found["remaining"] == {"scope": "analyst", "name": "ada", "epsilon": 0.25, "rho": None, "delta": 0.0}


def test_what_to_do_is_told_where_the_error_says_it():
    found = problem_of(errors.DomainError("no column 'agee' in 'health'; did you mean 'age'?"))

    assert found["remedy"] == "did you mean 'age'?"
    assert "remedy" not in problem_of(ParameterError("need 0 < beta < 1, got beta=2.0"))


def test_no_problem_is_a_mirror():
    token = "dct_0011aabb_" + "s" * 43
    found = problem_of(ParameterError(f"need something, got {token!r} and {'x' * 10_000}"))

    assert "sss" not in str(found["detail"])
    assert len(str(found["detail"])) < 600


@pytest.mark.parametrize("amount", [Fraction(10**4000), Fraction(10**309), Fraction(2**64), Fraction(1, 10**4000)])
def test_an_amount_beyond_every_float_is_told_as_json_can(amount):
    found = json.loads(json.dumps(amounts(Price(amount, amount, amount)), allow_nan=False))

    assert found == dict.fromkeys(("epsilon", "rho", "delta"), float(min(amount, Fraction(sys.float_info.max))))


def test_what_the_ledger_refuses_is_a_conflict_and_a_ledger_that_failed_stays_one():
    with pytest.raises(Problem) as refused, conflicts():
        raise LedgerError("a cap is only ever raised")
    with pytest.raises(LedgerError, match="the disk"), conflicts():
        raise LedgerError("the disk") from OSError()

    assert refused.value.slug == "conflict"


def test_withheld_answers_are_all_the_same_bytes_and_padded():
    kinds = [DiscreetError("the run failed; see the operator log, reference 1a2b"), DiscreetError("x" * 300)]
    lengths = {len(response_of(problem_of(kind), pad=BLOCK).body) for kind in kinds}

    assert lengths == {BLOCK}


COUNT = "SELECT COUNT(*) AS n FROM visits"
TOKEN = {"principal": "x", "role": "analyst", "days": 1}
CAP = {"scope": "table", "name": "nothing", "budget": {"rho": 1}, "reason": "why not"}
AS_JSON = {"Content-Type": "application/json"}
NINES = b'{"question": "x", "error": ' + b"9" * 5000 + b"}"
REFUSED = [
    ("GET", "/v1/nothing", {}, 404, "missing"),
    ("GET", "/nothing/at/all", {}, 404, "missing"),
    ("GET", "/v1/datasets/a%2Fb", {}, 404, "missing"),
    ("PATCH", "/v1/me", {}, 405, "method"),
    ("GET", "/v1/me", {"as_": None}, 401, "unauthenticated"),
    ("GET", "/v1/tokens", {"as_": "ada"}, 403, "forbidden"),
    ("GET", "/v1/datasets/nothing", {}, 404, "missing"),
    ("GET", "/v1/datasets/visits/mock", {"headers": {"Accept": "image/png"}}, 406, "not-acceptable"),
    ("GET", "/v1/datasets/visits/mock?rows=many", {}, 400, "parameter"),
    ("GET", "/v1/datasets/visits/mock?rows=-1", {}, 400, "parameter"),
    ("GET", "/v1/ledger?start=-1", {}, 400, "parameter"),
    ("GET", "/v1/ledger?start=99999999999999999999999", {}, 400, "parameter"),
    ("GET", "/v1/ledger/report", {"headers": {"Accept": "image/png"}}, 406, "not-acceptable"),
    ("GET", "/v1/audit", {}, 404, "missing"),
    ("POST", "/v1/explain", {"json": {}}, 400, "parameter"),
    ("POST", "/v1/explain", {"content": b"{"}, 415, "media-type"),
    ("POST", "/v1/explain", {"data": {"question": "x"}}, 415, "media-type"),
    ("POST", "/v1/explain", {"content": b"{", "headers": {"Content-Type": "application/json"}}, 400, "unreadable"),
    ("POST", "/v1/explain", {"json": {"question": "SELECT", "epsilon": 1}}, 400, None),
    ("POST", "/v1/explain", {"json": {"question": "DROP TABLE visits", "epsilon": 1}}, 400, "unsupported"),
    ("POST", "/v1/explain", {"json": {"question": COUNT, "epsilon": "1e999"}}, 400, "parameter"),
    ("POST", "/v1/explain", {"json": {"question": COUNT, "epsilon": 0}}, 400, "parameter"),
    ("POST", "/v1/explain", {"json": {"question": COUNT, "error": 10**4000}}, 400, "parameter"),
    ("POST", "/v1/explain", {"json": {"question": COUNT, "error": 10**310}}, 400, "parameter"),
    ("POST", "/v1/explain", {"json": {"question": COUNT, "budget": {"rho": 10**4000}}}, 400, "parameter"),
    ("POST", "/v1/jobs", {"json": {"kind": "synthesis", "table": "visits", "epsilon": 10**4000}}, 400, "parameter"),
    ("POST", "/v1/explain", {"content": NINES, "headers": AS_JSON}, 400, "unreadable"),
    ("POST", "/v1/explain", {"json": {"question": "SELECT AVG(agee) AS n FROM visits", "epsilon": 1}}, 400, "domain"),
    ("POST", "/v1/ask", {"json": {"question": COUNT, "epsilon": 1}}, 503, "unavailable"),
    ("POST", "/v1/ask", {"json": {}, "headers": {"Idempotency-Key": "k" * 201}}, 400, "parameter"),
    ("POST", "/v1/tokens", {"json": TOKEN | {"role": "king"}}, 400, "parameter"),
    ("POST", "/v1/tokens", {"json": TOKEN | {"datasets": ["nothing"]}}, 400, "domain"),
    ("DELETE", "/v1/tokens/ffffffff", {}, 404, "missing"),
    ("DELETE", "/v1/session", {}, 409, "conflict"),
    ("POST", "/v1/approvals/ffff", {"json": {"decision": "approve", "reason": "good"}}, 404, "missing"),
    ("POST", "/v1/approvals/ffff", {"json": {"decision": "maybe", "reason": "good"}}, 400, "parameter"),
    ("POST", "/v1/caps", {"json": CAP}, 404, "missing"),
    ("POST", "/v1/datasets", {"json": {"name": "no name", "source": "x", "columns": {}}}, 400, "parameter"),
    ("GET", "/v1/jobs", {}, 503, "unavailable"),
]  # fmt: skip


@pytest.mark.parametrize(("method", "path", "given", "status", "slug"), REFUSED)
def test_every_refusal_over_http_has_the_one_shape(shared, method, path, given, status, slug):
    reply = shared(method, path, **given)

    assert reply.status_code == status
    assert reply.headers["content-type"] == "application/problem+json"
    assert reply.headers["cache-control"] == "no-store"
    found = _right(reply.json())
    assert slug in (None, found)
    assert reply.json()["instance"] == reply.headers["discreet-request"] != ""


def test_an_error_that_nobody_foresaw_is_told_without_its_words(served, monkeypatch, caplog):
    def broken(*_):
        raise RuntimeError("a private value")

    monkeypatch.setattr(served.app.state.desk, "tables", broken)
    reply = served("GET", "/v1/datasets")

    assert (reply.status_code, _right(reply.json())) == (503, "unavailable")
    assert "private" not in reply.text + caplog.text


def test_a_failed_ledger_is_unavailable_and_is_opened_anew(served):
    desk = served.app.state.desk
    desk.curator.ledger.close()
    refused = served("GET", "/v1/budget")

    assert (refused.status_code, _right(refused.json())) == (503, "unavailable")
    assert served("GET", "/v1/budget").status_code == 200
    desk.curator.ledger.close()
    served.app.state.runner = Inline(served.app)
    assert [served("GET", "/v1/ready", as_=None).status_code for _ in range(2)] == [503, 200]
