"""Nothing that a client claims is believed: sensitivities, prices, populations, relations, identities, flags.

Each body below is a question with claims added to it: in fields, text, headers or the address.  Either it is
refused, free, or it is charged in the token's own name what the honest question costs, and the noise is that of the
honest plan.
"""

from __future__ import annotations

import json
import random
from fractions import Fraction

import pytest

from discreet import Curator
from discreet.curator.plan import plan
from discreet.errors import DiscreetError
from discreet.privacy import ApproxDP, PureDP
from discreet.service.problems import Problem, problem_of
from discreet.service.running.outcome import Answered, Refused
from discreet.service.running.records import Records
from discreet.service.running.work import KINDS, Desk
from tests.scale import counts
from tests.service.conftest import hospital, opened

BODIES = counts(quick=100, full=1000)
CAP = PureDP(10**6)
QUESTIONS = [
    "SELECT COUNT(*) AS n FROM visits",
    "SELECT ward, SUM(cost) AS s FROM visits GROUP BY ward",
    "SELECT AVG(salary) AS a FROM payroll",
    "SELECT FLOOR(age / 10) AS decade, COUNT(DISTINCT patient) AS n FROM visits GROUP BY decade",
]
FIELDS = [
    {"sensitivity": 0}, {"l1_sensitivity": 1}, {"scale": 1e-9}, {"sigma": 0}, {"noise": False}, {"mechanism": "none"},
    {"metric": "replace"}, {"neighbours": "Replace"}, {"relation": "Local"}, {"unit": None}, {"n": 10**9},
    {"population": 10**12}, {"rate": 0.001}, {"sampled": True}, {"amplified": 0.01}, {"public": True},
    {"cost": 0}, {"price": {"epsilon": 0, "rho": 0, "delta": 0}}, {"charge": False}, {"free": True}, {"dry_run": True},
    {"receipt": {"id": 1}}, {"replayed": True}, {"testing": True}, {"secure": True}, {"rng": 7}, {"seed": 7},
    {"analyst": "bob"}, {"principal": "bob"}, {"user_name": "bob"}, {"role": "steward"}, {"approved": True},
    {"approval": "a1"}, {"plan": {"releases": []}}, {"groups": [["ward"]]}, {"domain": {"age": {"low": 0, "high": 1}}},
    {"columns": {"cost": {"type": "real", "low": 0, "high": 1}}}, {"version": 9}, {"table": "payroll"},
    {"epsilon": -1}, {"epsilon": "nan"}, {"epsilon": True}, {"epsilon": "1e999"}, {"epsilon": [0.1]},
    {"budget": {"epsilon": 1, "delta": -1}}, {"budget": {"epsilon": 1, "cost": 0}}, {"budget": "free"},
    {"rows_per_unit": 0}, {"rows_per_unit": 1.5}, {"rows_per_unit": True}, {"groups_per_unit": -1}, {"beta": 2.0},
]  # fmt: skip
BOUNDS = [{"rows_per_unit": 1}, {"groups_per_unit": 1}, {"rows_per_unit": 1, "groups_per_unit": 1}, {"beta": 0.2}]
HEADERS = [
    {"X-User": "bob"}, {"X-Forwarded-User": "bob"}, {"X-Remote-User": "bob"}, {"Discreet-Cost": "0"},
    {"Discreet-Principal": "bob"}, {"X-Role": "steward"}, {"X-Sensitivity": "0"}, {"Cookie": "principal=bob"},
]  # fmt: skip
ADDRESSES = ["?analyst=bob", "?principal=bob&role=steward", "?epsilon=0", "?sensitivity=0", "?fresh=false&cost=0"]
TEXTS = [" -- epsilon = 0", " /* sensitivity 0 */", ";", " LIMIT 1000000", " OPTION (PRICE 0)"]


class Inline:
    """A runner without children: what a child does with an order, at once."""

    def __init__(self, curator):
        self.curator = curator

    def paid(self, body):
        return dict(body)

    async def ask(self, order):
        desk = Desk(curator=self.curator, principal=order.principal, folder=None, tell=lambda _: None)
        try:
            document, _ = KINDS[order.kind](desk, self.paid(order.body))
        except (DiscreetError, Problem) as error:
            return Refused(problem=problem_of(error))
        return Answered(document=document)


class Trusting(Inline):
    """The twin that lets a client say how many rows of a unit there are at most, without bounding them."""

    def paid(self, body):
        told = dict(body)
        epsilon = told.pop("rows_per_unit", 2)
        return told | {"epsilon": told["epsilon"] * epsilon / 2} if "epsilon" in told else told


@pytest.fixture
def served(tmp_path):
    file = hospital(tmp_path, rows=300, service="\n[service]\nrate = 1000000\n")
    text = file.read_text().replace('epsilon = "2"\ndelta = "1e-6"', f'epsilon = "{10**6}"')
    file.write_text(text)
    with opened(file) as found, Curator.open(file) as curator:
        found.app.state.runner, found.curator = Inline(curator), curator
        found.app.state.records = Records(found.app.state.store)
        yield found


def _bodies(count):
    """Questions with claims."""
    chance = random.Random(20)
    for number in range(count):
        honest = {"question": chance.choice(QUESTIONS), "epsilon": round(chance.uniform(0.01, 2), 3), "fresh": True}
        claims, headers, address = {}, {}, ""
        for kind in chance.sample(["field", "field", "bound", "header", "address", "text"], chance.randint(1, 3)):
            if kind == "field":
                claims |= chance.choice(FIELDS)
            elif kind == "bound":
                claims |= chance.choice(BOUNDS)
            elif kind == "header":
                headers |= chance.choice(HEADERS)
            elif kind == "address":
                address = chance.choice(ADDRESSES)
            else:
                honest["question"] += chance.choice(TEXTS)
        yield number, honest | claims, headers, address


def _spends(curator):
    return [entry.record for entry in curator.ledger.entries() if entry.record["kind"] == "spend"]


def _honoured(served, count):
    """How many claims were believed, how many bodies were refused, and how many were answered."""
    believed, refused, answered = [], 0, 0
    for number, body, headers, address in _bodies(count):
        before = len(_spends(served.curator))
        reply = served("POST", f"/v1/ask{address}", as_="ada", content=json.dumps(body), headers=_typed(headers))
        spends = _spends(served.curator)[before:]
        if reply.status_code != 200:
            refused += 1
            believed += [number] if spends else []
            continue
        answered += 1
        believed += [] if _as_planned(served, body, reply.json(), spends) else [number]
    return believed, refused, answered


def _typed(headers):
    return {**headers, "Content-Type": "application/json"}


def _as_planned(served, body, told, spends):
    """Whether the ledger and the reply say what the question itself costs, in the token's name."""
    query = served.curator.query(body["question"])
    bounds = {name: body[name] for name in ("rows_per_unit", "groups_per_unit") if name in body}
    step = plan(query, query.source.table(), epsilon=body["epsilon"], **bounds)
    (record,) = spends
    charged = None if record["price"]["epsilon"] is None else Fraction(record["price"]["epsilon"])
    return (
        record["analyst"] == "ada"
        and charged == step.price.epsilon
        and Fraction(record["price"]["rho"]) == step.price.rho
        and told["price"]["epsilon"] == float(step.price.epsilon)
        and [len(part) for part in told["released"]["noisy"]] == [step.cells] * len(step.releases)
    )


def test_no_claim_of_a_client_is_honoured(served, record_property):
    served.tokens["ada"] = served.tokens["analyst"] = _all_tables(served)
    believed, refused, answered = _honoured(served, BODIES)
    record_property("refused", refused)
    record_property("answered", answered)

    assert believed == []
    assert refused + answered == BODIES
    assert min(refused, answered) >= BODIES // 10


def _all_tables(served):
    from discreet.service.tokens import issue

    return issue(served.app.state.store, principal="ada", role="analyst", days=1)


def test_the_twin_that_takes_a_clients_word_is_caught(served):
    served.tokens["ada"] = _all_tables(served)
    served.app.state.runner = Trusting(served.curator)

    assert _honoured(served, 40)[0] != []


@pytest.mark.parametrize("field", ["cost", "sensitivity", "neighbours", "analyst", "principal", "n"])
def test_an_order_for_a_job_takes_no_claims_either(served, field):
    body = {"kind": "release", "table": "visits", "workload": {"marginals": 1}, "epsilon": 0.1, field: 1}
    reply = served("POST", "/v1/jobs", as_="ada", json=body)

    assert reply.status_code == 400
    assert reply.json()["type"].endswith(":parameter")
    assert _spends(served.curator) == []


def test_the_last_of_two_prices_is_the_one_that_is_charged_and_drawn(served):
    body = '{"question": "SELECT COUNT(*) AS n FROM visits", "epsilon": 0.001, "epsilon": 1.5}'
    reply = served("POST", "/v1/ask", as_="ada", content=body, headers=_typed({}))

    assert reply.json()["price"]["epsilon"] == 1.5
    assert [record["price"]["epsilon"] for record in _spends(served.curator)] == ["3/2"]


def test_a_budget_is_charged_at_least_what_it_says(served):
    body = {"question": "SELECT COUNT(*) AS n FROM visits", "budget": {"epsilon": "0.5", "delta": "1e-9"}}
    reply = served("POST", "/v1/ask", as_="ada", json=body)

    assert reply.status_code in (200, 409)
    assert reply.status_code == 409 or reply.json()["cost"] == str(ApproxDP(0.5, 1e-9))
