"""Requests made up from the API's own description, right and wrong ones: no failure, no reply outside the description.

The service runs in processes of its own.  A steward, an analyst and an auditor send what is made up, and so do the
tokens and sessions that were made on the way; half of the requests are about what earlier replies told of: jobs,
approvals, tokens, tables, keys.  Afterwards the ledger is whole and within its caps.
"""

from __future__ import annotations

import json
import time
from collections import Counter, defaultdict
from contextlib import suppress

import pytest
import requests
import schemathesis
from hypothesis import HealthCheck, given, seed, settings
from hypothesis import strategies as st
from hypothesis.errors import Unsatisfiable
from schemathesis import GenerationMode
from schemathesis.checks import CHECKS, load_all_checks
from schemathesis.core.failures import Failure, FailureGroup
from urllib3 import HTTPResponse

from discreet.curator.config import ledger
from discreet.privacy import ApproxDP
from discreet.service.access import TABLE
from discreet.service.app import create_app
from tests.scale import counts
from tests.service.conftest import ROLES, hospital
from tests.service.serving import serving

CASES = counts(quick=200, full=20_000)  # half of them made up one by one, half of them in sequences
LENGTH = 25  # of a sequence
SERVICE = """
[service]
children = 2
slot = 1.5
margin = 0.7
rate = 1000000
queue = 1000
log = "service.log"

[service.approval]
epsilon = "0.1"
delta = "1e-7"
"""
QUESTIONS = [
    "SELECT COUNT(*) AS n FROM visits",
    "SELECT ward, AVG(cost) AS c FROM visits GROUP BY ward HAVING c > 3 ORDER BY c DESC LIMIT 2",
    "SELECT MEDIAN(salary) AS m, MAX(salary) AS h FROM payroll",
    "SELECT v.ward, COUNT(DISTINCT v.patient) AS n FROM visits v GROUP BY v.ward",
    "SELECT SUM(CASE WHEN age > 64 THEN cost ELSE 0 END) AS s FROM visits WHERE NOT readmitted",
]
BUSY = "no child could run the order in time; nothing was read or spent"
CHECKED = ("not_a_server_error", "status_code_conformance", "content_type_conformance", "response_schema_conformance")


@pytest.fixture(scope="module")
def service(tmp_path_factory):
    with serving(hospital(tmp_path_factory.mktemp("fuzzed"), service=SERVICE)) as found:
        yield found


@pytest.fixture(scope="module")
def api(service, tmp_path_factory):
    app = create_app(hospital(tmp_path_factory.mktemp("described")))
    try:
        found = schemathesis.openapi.from_dict(_without_security(app.openapi()))
    finally:
        app.state.desk.close()
        app.state.store.close()
    found.config.update(base_url=service.url)
    return found


def _without_security(document):
    """The description as it is for somebody who has a token: made-up ones would hide the rest of a route."""
    copy = json.loads(json.dumps(document))
    for operations in copy["paths"].values():
        for operation in operations.values():
            operation.pop("security", None)
    return copy


class Sent:
    """What was sent and by whom, and what came back."""

    def __init__(self, secrets):
        load_all_checks()
        self.checks = [CHECKS.get_one(name) for name in CHECKED]
        self.secrets, self.statuses, self.session = secrets, Counter(), requests.Session()
        self.made = []  # tokens and sessions that were made on the way, each with its role
        self.session.trust_env = False

    def question(self, case, question, who):
        """Send one case, with a question that can be read if there is one."""
        if isinstance(case.body, dict) and "question" in case.body and question is not None:
            case.body |= {"question": question, "epsilon": "0.001"}
            for other in ("budget", "error"):
                case.body.pop(other, None)
        return self(case, *self.token(who))

    def token(self, who):
        """A token and its role: of one of the three, or one that was made on the way."""
        if isinstance(who, int):
            return self.made[who % len(self.made)] if self.made else self.token("analyst")
        return self.secrets[who], who

    def __call__(self, case, secret, role):
        """Send one case and judge the reply: also by what the role may do."""
        reply = self._reply(case, secret)
        method, path = case.operation.method.upper(), case.operation.path
        self.statuses[role, reply.status_code] += 1
        case.validate_response(reply, checks=self.checks)
        assert not any(known in reply.text for known in self.secrets.values())
        if role not in TABLE[method, path] and "anybody" not in TABLE[method, path]:
            assert reply.status_code >= 400
        return reply

    def _reply(self, case, secret):
        """The reply; a machine that is too loaded to run a child in time says so, and is asked again."""
        for _ in range(10):
            reply = case.call(headers={"Authorization": f"Bearer {secret}"}, session=self.session, timeout=300)
            if reply.status_code != 503 or BUSY not in reply.text:
                break
            time.sleep(1)
        return reply


class World:
    """What earlier replies told of, and right requests about it."""

    def __init__(self, api, send):
        self.api, self.send = api, send
        self.ids, self.names = defaultdict(list), ["visits", "payroll"]

    def step(self, place, who, pick, wrong=None):
        """One request of `STEPS` about something that is known by now; one field of it may be `wrong`."""
        method, path, body = STEPS[place % len(STEPS)]
        sent = body(pick, self) if body is not None else None
        if wrong is not None and sent:
            field, value = wrong
            sent = sent | {sorted(sent)[field % len(sent)]: value}
        key = {"Idempotency-Key": f"key-{pick % 5}"} if path in ("/v1/ask", "/v1/jobs") and pick % 3 else {}
        given = {"path_parameters": self._about(path, pick), "headers": key}
        given |= {} if sent is None else {"body": sent, "media_type": "application/json"}
        secret, role = self.send.token(who)
        reply = self.send(self.api[path][method].Case(**given), secret, role)
        if reply.status_code < 300 and "json" in str(reply.headers.get("content-type")):
            self._learn(method, path.split("/")[2], reply.json(), role)
        return reply

    def _about(self, path, pick):
        if "{" not in path:
            return {}
        pool = self.names if "{name}" in path else self.ids[path.split("/")[2]]
        known = pool[pick % len(pool)] if pool else "ffffffff"
        return {"name" if "{name}" in path else "id": known}

    def _learn(self, method, kind, found, role):
        if method != "POST":
            return
        if "approval" in found:
            self.ids["approvals"].append(found["approval"])
        elif kind in ("jobs", "tokens") and "id" in found:
            self.ids[kind].append(found["id"])
        elif kind == "datasets":
            self.names.append(found["name"])
        if kind == "tokens":
            self.send.made.append((found["token"], found["role"]))
        if kind == "session":
            self.send.made.append((found["secret"], role))


def _asked(pick, _):
    price = {"budget": {"rho": "0.00001"}} if pick % 7 == 0 else {"epsilon": ("0.001", "0.12")[pick % 2]}
    return {"question": QUESTIONS[pick % len(QUESTIONS)], "fresh": pick % 11 == 0, **price}


def _ordered(pick, world):
    table = world.names[pick % len(world.names)]
    kinds = [
        {"kind": "release", "workload": {"marginals": 1}},
        {"kind": "fit", "model": "NaiveBayes", "target": "ward"},
        {"kind": "synthesis", "rows": 10, "columns": ["ward", "readmitted"]},
    ]
    return {"table": table, "budget": {"rho": ("0.00001", "0.001")[pick % 2]}} | kinds[pick % 3]


def _capped(pick, _):
    scopes = [{"scope": "analyst", "name": "analyst", "unit": "patient"}, {"scope": "table", "name": "visits"},
              {"scope": "unit", "name": "patient"}]  # fmt: skip
    budget = {"epsilon": f"1.{pick % 9}", "delta": "1e-7"}
    return scopes[pick % 3] | {"budget": budget, "reason": "a study"}


def _token(pick, _):
    more = {"allotment": {"epsilon": "0.5", "delta": "1e-8"}} if pick % 2 else {}
    return {"principal": f"guest {pick % 3}", "role": ROLES[pick % 3], "days": 1} | more


def _table(pick, _):
    columns = {
        "ward": {"type": "categorical", "values": ["cardiology"]},
        "beds": {"type": "integer", "low": 0, "high": 9},
    }
    return {"name": f"wards{pick % 4}", "source": "wards.csv", "public": pick % 2 == 0, "columns": columns}


STEPS = [
    ("POST", "/v1/ask", _asked),
    ("POST", "/v1/explain", lambda pick, world: {k: v for k, v in _asked(pick, world).items() if k != "fresh"}),
    ("POST", "/v1/approvals/{id}", lambda pick, _: {"decision": ("approve", "refuse")[pick % 2], "reason": "why"}),
    ("POST", "/v1/jobs", _ordered),
    ("GET", "/v1/jobs/{id}", None),
    ("GET", "/v1/jobs/{id}/result", None),
    ("GET", "/v1/jobs/{id}/synthetic", None),
    ("DELETE", "/v1/jobs/{id}", None),
    ("POST", "/v1/tokens", _token),
    ("DELETE", "/v1/tokens/{id}", None),
    ("POST", "/v1/session", None),
    ("DELETE", "/v1/session", None),
    ("GET", "/v1/me", None),
    ("POST", "/v1/caps", _capped),
    ("POST", "/v1/datasets", _table),
    ("GET", "/v1/datasets/{name}", None),
    ("GET", "/v1/datasets/{name}/mock", None),
    ("GET", "/v1/budget", None),
    ("GET", "/v1/ledger", None),
    ("GET", "/v1/ledger/verify", None),
    ("GET", "/v1/approvals", None),
    ("GET", "/v1/jobs", None),
    ("GET", "/metrics", None),
]
STORY = [  # by whom, which step, and what about: every kind of thing is known afterwards
    ("analyst", 0, 1), ("steward", 2, 0), ("analyst", 0, 1), ("analyst", 3, 0), ("analyst", 4, 0), ("steward", 8, 1),
    (0, 12, 0), (0, 10, 0), ("steward", 14, 2), ("analyst", 16, 2), ("steward", 9, 0), (0, 12, 0), ("auditor", 19, 0),
]  # fmt: skip
HOSTILE = [
    None,
    "",
    -1,
    0,
    True,
    [],
    {},
    "x" * 300,
    10**400,
    "1e-4999",
    "\0",
    "\ud800",
    "visits",
    {"epsilon": "1"},
    [[]],
]
people = st.sampled_from(ROLES) | st.integers(0, 50)
steps = st.tuples(
    st.integers(0, len(STEPS) - 1),
    people,
    st.integers(0, 10_000),
    st.none() | st.tuples(st.integers(0, 9), st.sampled_from(HOSTILE)),
)


def _fuzz(operation, mode, send, turn, examples):
    @seed(turn)
    @settings(max_examples=examples, suppress_health_check=list(HealthCheck))
    @given(operation.as_strategy(generation_mode=mode), st.sampled_from([None, *QUESTIONS]), people)
    def once(case, question, who):
        send.question(case, question, who)

    once()


def _fuzz_all(operation, send, turn, examples):
    """Right requests to an operation, and wrong ones where something can be wrong."""
    raw = operation.definition.raw
    takes = raw.get("parameters") or raw.get("requestBody")
    for mode in (GenerationMode.POSITIVE, *([GenerationMode.NEGATIVE] if takes else [])):
        with suppress(Unsatisfiable):  # any text is a right one
            _fuzz(operation, mode, send, turn, examples)


@pytest.fixture(scope="module")
def secrets(service):
    return {role: service.token(role, role) for role in ROLES}


def _whole(file):
    """The ledger is whole, and every unit within the cap it always had."""
    with ledger(file, verify=False) as book:
        book.verify()
        present = [book.budget(unit).present for unit in book.units()]
    assert all(balance.cap == ApproxDP(2, 1e-6) for balance in present)
    assert all(left.rho is not None or left.epsilon is not None for left in (one.remaining for one in present))


def _recorded(send, record_property):
    statuses = Counter()
    for (_, status), number in send.statuses.items():
        statuses[status] += number
    record_property("requests", statuses.total())
    record_property("statuses", dict(sorted(statuses.items())))
    return statuses


def test_no_request_makes_the_service_fail_or_leave_its_description(service, api, secrets, record_property):
    operations, send = [found.ok() for found in api.get_all_operations()], Sent(secrets)
    for turn in range(20):
        if send.statuses.total() >= CASES // 2:
            break
        for operation in operations:
            _fuzz_all(operation, send, turn, max(1, CASES // (4 * len(operations))))
    statuses = _recorded(send, record_property)
    _whole(service.file)

    assert statuses.total() >= CASES // 2
    assert max(statuses) < 500
    assert {200, 400, 403} <= statuses.keys()
    assert {role for role, _ in send.statuses} == set(ROLES)


def test_no_sequence_of_requests_makes_the_service_fail_or_leave_its_description(
    service, api, secrets, record_property
):
    """Each request may be about what the ones before it made, and may have one field wrong."""
    send = Sent(secrets)
    world = World(api, send)
    replies = [world.step(place, who, pick).status_code for who, place, pick in STORY]

    @seed(1)
    @settings(max_examples=max(1, CASES // (2 * LENGTH)), deadline=None, suppress_health_check=list(HealthCheck))
    @given(st.lists(steps, min_size=LENGTH, max_size=LENGTH))
    def walked(sequence):
        for one in sequence:
            world.step(*one)

    walked()
    statuses = _recorded(send, record_property)
    _whole(service.file)

    assert statuses.total() >= CASES // 2
    assert max(statuses) < 500
    assert replies[2] in (200, 424)  # a loaded machine may withhold it for being late
    assert replies[:2] + replies[3:] == [202, 200, 202, 200, 201, 200, 201, 201, 200, 204, 401, 200]
    assert all(world.ids[kind] for kind in ("jobs", "approvals", "tokens"))
    assert {200, 202, 400, 401, 403, 404} <= statuses.keys()


def _reply(status, body, kind):
    reply = requests.Response()
    reply.status_code, reply._content, reply.headers["Content-Type"] = status, body, kind
    reply.raw = HTTPResponse(body=body, headers={"Content-Type": kind}, status=status)
    reply.request = requests.Request("GET", "http://127.0.0.1/v1/health").prepare()
    reply.url = reply.request.url
    return reply


@pytest.mark.parametrize(
    ("status", "body", "kind"),
    [
        (500, b'{"detail": "Internal Server Error"}', "application/json"),
        (422, b'{"detail": [{"loc": ["body"]}]}', "application/json"),
        (400, b'{"detail": "no type"}', "application/problem+json"),
        (200, b"<p>ok</p>", "text/html"),
        (302, b"", "text/plain"),
    ],
)
def test_twins_that_fail_or_leave_the_description_are_caught(service, api, monkeypatch, status, body, kind):
    operation = api["/v1/health"]["GET"]
    send = Sent(dict.fromkeys(ROLES, "secret"))
    case = operation.Case()
    monkeypatch.setattr(type(case), "call", lambda *given, **more: _reply(status, body, kind))

    with pytest.raises((FailureGroup, Failure)):
        send(case, "secret", "steward")
    right = _reply(200, b'{"status": "ok", "version": "0.1.0"}', "application/json")
    monkeypatch.setattr(type(case), "call", lambda *given, **more: right)
    send(case, "secret", "steward")


def test_the_twin_that_lets_a_role_do_what_it_may_not_is_caught(service, api, secrets, monkeypatch):
    send = Sent(secrets)
    case = api["/v1/tokens"]["GET"].Case()
    monkeypatch.setattr(type(case), "call", lambda *given, **more: _reply(200, b'{"tokens": []}', "application/json"))

    send(case, secrets["steward"], "steward")
    for role in ("analyst", "auditor"):
        with pytest.raises(AssertionError):
            send(case, secrets[role], role)
