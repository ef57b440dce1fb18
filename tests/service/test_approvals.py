"""One approval is one charge: it is not passed by, not used twice, and not lost without a charge."""

from __future__ import annotations

import time
from fractions import Fraction

import pytest

from discreet.composition.price import Price
from discreet.privacy.guarantee import ZCDP
from discreet.service import approvals
from discreet.service.problems import Problem, problem_of
from discreet.service.running.outcome import Order, Refused, Withheld
from discreet.service.store import open_store
from tests.service.children import settings
from tests.service.conftest import hospital, opened
from tests.service.inline import ask

APPROVAL = '\n[service.approval]\nepsilon = "0.5"\n'
COST = Price(Fraction(1), Fraction(1, 2), Fraction(0))
BODY = {"question": "SELECT COUNT(*) AS n FROM visits", "epsilon": 1}
RELEASE = {
    "kind": "release",
    "table": "visits",
    "workload": {"marginals": 1, "columns": ["ward"]},
    "budget": {"rho": "0.01"},
    "mechanism": "IndependentNoise",
}


def keyed(key):
    return {"Idempotency-Key": key}


def approved(served, reply):
    """Approve what a reply says is waiting; its number."""
    assert reply.status_code == 202, reply.text
    number = reply.json()["approval"]
    decision = {"decision": "approve", "reason": "agreed"}
    served("POST", f"/v1/approvals/{number}", json=decision).raise_for_status()
    return number


def states(served):
    return [one["state"] for one in served("GET", "/v1/approvals", as_="ada").json()["approvals"]]


@pytest.mark.parametrize("asking", [APPROVAL], indirect=True)
def test_the_record_of_another_request_under_the_key_is_no_approval(asking):
    """A cheap order under the same key is under way at the moment of the check, and is refused afterwards."""
    cheap = Order(kind="ask", principal="ada", body=BODY | {"epsilon": "0.4"}, key="k")
    asking.app.state.records.promise(cheap, paying="x", since=0)
    reply = ask(asking, epsilon="0.6", headers=keyed("k"))
    asking.app.state.records.forget(cheap)

    assert (reply.status_code, reply.json()["state"]) == (202, "waiting")
    assert asking.app.state.runner.orders == []


@pytest.mark.parametrize("slug", ["too-many-requests", "unavailable", "conflict", "budget-exhausted"])
@pytest.mark.parametrize("key", [None, "k1"], ids=["without a key", "with a key"])
@pytest.mark.parametrize("asking", [APPROVAL], indirect=True)
def test_an_order_that_was_refused_leaves_its_approval(asking, slug, key):
    headers = {} if key is None else keyed(key)
    approved(asking, ask(asking, epsilon="0.6"))
    asking.app.state.runner.outcome = Refused(problem=problem_of(Problem(slug, "no; nothing was spent")))
    turned = ask(asking, epsilon="0.6", headers=headers)
    left = states(asking)
    asking.app.state.runner.outcome = None
    retried = ask(asking, epsilon="0.6", headers=headers)

    assert turned.status_code in (409, 429, 503)
    assert left == ["approved"]
    assert retried.status_code == 200
    assert states(asking) == ["used"]


@pytest.mark.parametrize("asking", [APPROVAL], indirect=True)
def test_a_withheld_order_has_used_its_approval_and_its_key_gets_the_same_again(asking):
    approved(asking, ask(asking, epsilon="0.6"))
    asking.app.state.runner.outcome = Withheld()
    codes = [ask(asking, epsilon="0.6", headers=keyed("k1")).status_code for _ in range(2)]

    assert codes == [424, 424]
    assert states(asking) == ["used"]
    assert ask(asking, epsilon="0.6", headers=keyed("k2")).status_code == 202


@pytest.mark.parametrize("asking", [APPROVAL], indirect=True)
def test_nothing_is_used_where_nothing_runs(asking):
    approved(asking, ask(asking, epsilon="0.6"))
    asking.app.state.runner = None

    assert ask(asking, epsilon="0.6").status_code == 503
    assert states(asking) == ["approved"]


@pytest.fixture(params=["sqlite", "postgresql"])
def store(request, tmp_path):
    place = tmp_path / "service.db" if request.param == "sqlite" else request.getfixturevalue("fresh_postgres_url")
    with open_store(place) as found:
        number = _wants(found, "k1")["approval"]
        approvals.decide(found, number, decision="approve", reason="good", steward="bea")
        yield found


def _wants(store, key):
    return approvals.granted(store, "ada", "ask", BODY, COST, key=key)


def _ends(store, key, *, charged):
    approvals.settled(store, "ada", "ask", BODY, key=key, charged=charged)


def test_an_approval_is_not_given_back_while_another_request_under_its_key_may_be_charged(store):
    """Two workers have the same order: one turns it away, the other answers.  The twin counts no holders."""
    assert _wants(store, "k1") is _wants(store, "k1") is None
    _ends(store, "k1", charged=False)
    assert _wants(store, "k2") is not None  # the other is under way
    _ends(store, "k1", charged=True)
    assert _wants(store, "k2") is not None
    assert _wants(store, "k1") is None  # what was charged is told again


def test_an_approval_that_all_have_given_back_is_there_for_any_key(store):
    assert _wants(store, "k1") is _wants(store, "k1") is None
    _ends(store, "k1", charged=False)
    _ends(store, "k1", charged=False)
    _ends(store, "k1", charged=False)  # once too often changes nothing

    assert _wants(store, "k2") is None
    assert _wants(store, "k1") is not None


@pytest.fixture
def api(tmp_path):
    file = hospital(tmp_path, rows=300)
    chosen = settings(file, children=1, slot=0.2, margin=0.1, memory=1024, approval=ZCDP("0.001"))
    with opened(file, chosen, running=True) as served:
        yield served


def _over(api, number):
    for _ in range(3000):
        job = api("GET", f"/v1/jobs/{number}", as_="ada").json()
        if job["state"] not in ("queued", "running"):
            return job
        time.sleep(0.1)
    raise AssertionError("the job does not end")


def test_a_job_that_came_to_nothing_leaves_its_approval(api):
    """Refused by its child; and cancelled before its turn."""
    source = api.app.state.path.with_name("visits.parquet")
    held = source.read_bytes()
    approved(api, api("POST", "/v1/jobs", json=RELEASE, as_="ada"))
    source.unlink()
    refused = _over(api, api("POST", "/v1/jobs", json=RELEASE, as_="ada").json()["id"])
    after_refusal = states(api)
    source.write_bytes(held)
    api.app.state.runner.jobs._free = 0  # as if a long job had the place
    waits = api("POST", "/v1/jobs", json=RELEASE, as_="ada").json()
    while_it_waits = states(api)
    cancelled = api("DELETE", f"/v1/jobs/{waits['id']}", as_="ada").json()
    after_cancelling = states(api)
    api.app.state.runner.jobs._free = 1
    done = _over(api, api("POST", "/v1/jobs", json=RELEASE, as_="ada").json()["id"])

    assert (refused["state"], after_refusal) == ("refused", ["approved"])
    assert (waits["state"], while_it_waits) == ("queued", ["used"])
    assert (cancelled["state"], after_cancelling) == ("cancelled", ["approved"])
    assert (done["state"], states(api)) == ("done", ["used"])
    assert api("POST", "/v1/jobs", json=RELEASE, as_="ada").json()["state"] == "waiting"
