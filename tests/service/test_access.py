"""discreet.service.access: every cell of role x route x dataset x owner, and identity from the token alone."""

from __future__ import annotations

import json
import re
import time

import pytest

from discreet.service import access, tokens
from discreet.service.access import OPEN, TABLE, Principal, guard, routes
from discreet.service.console.pages import PAGES
from discreet.service.tokens import issue
from tests.service.conftest import ROLES

QUESTION = {"question": "SELECT COUNT(*) AS n FROM {dataset}", "epsilon": 0.1}
JOB = {"kind": "release", "table": "{dataset}", "workload": {"marginals": 1}, "epsilon": 0.1}
PAGES_OF_ALL = {"/signin", "/static/{name}"}  # what a browser sees before it has a session


def _cells():
    return [
        pytest.param(method, path, role, id=f"{method} {path} {role}")
        for method, path in TABLE
        for role in (*ROLES, None)
    ]


def test_every_route_has_an_entry_and_every_entry_a_route(shared):
    there = {
        (method, route.path)
        for route in routes(shared.app)
        for method in route.methods - {"HEAD"}
        if route.path.startswith(("/v1", "/metrics"))
    }

    assert there == set(TABLE)


def test_every_other_route_is_a_page_of_the_console(shared):
    others = {route.path for route in routes(shared.app)} - {path for _, path in TABLE}

    assert others == {path for _, path, _ in PAGES} | PAGES_OF_ALL


def test_every_route_of_the_api_is_guarded(shared):
    for route in shared.app.routes:
        guarded = [found.dependency for found in getattr(getattr(route, "include_context", None), "dependencies", [])]
        inner = getattr(route, "original_router", None)
        paths = {one.path for one in inner.routes} if inner is not None else {route.path}
        if any(path.startswith(("/v1", "/metrics")) for path in paths):
            assert guard in guarded or paths == {"/v1/openapi.json"}


def test_a_route_without_an_entry_is_open_to_nobody(served, monkeypatch):
    monkeypatch.delitem(TABLE, ("GET", "/v1/me"))

    for role in ROLES:
        assert served("GET", "/v1/me", as_=role).status_code == 403


@pytest.mark.parametrize(("method", "path", "role"), _cells())
def test_a_role_may_do_what_the_table_says_and_nothing_else(shared, method, path, role):
    where = path.replace("{name}", "visits").replace("{id}", "00000000")
    reply = shared(method, where, as_=role, json={} if method == "POST" else None)
    roles = TABLE[method, path]

    if roles is OPEN or role in roles:
        assert reply.status_code not in (401, 403)
    else:
        assert reply.status_code == (401 if role is None else 403)
        assert reply.headers["content-type"] == "application/problem+json"


def test_the_roles_are_these():
    """The table itself, in words: what an auditor and an analyst may not do."""
    may = {role: {key for key, roles in TABLE.items() if role in roles} for role in ROLES}

    assert may["steward"] == {key for key, roles in TABLE.items() if roles is not OPEN}
    assert {("POST", "/v1/ask"), ("POST", "/v1/explain"), ("POST", "/v1/jobs"), ("POST", "/v1/caps")}.isdisjoint(
        may["auditor"]
    )
    assert {path for method, path in may["auditor"] if method != "GET"} == {"/v1/session"}
    assert {path for _, path in may["analyst"]}.isdisjoint(
        {"/v1/tokens", "/v1/caps", "/v1/ledger/verify", "/v1/ledger/report", "/metrics", "/v1/audit", "/v1/tokens/{id}"}
    )


SEEN = {"nobody's": [], "visits": ["visits"], "payroll": ["payroll"], "all": None}
ABOUT = [
    ("GET", "/v1/datasets/{dataset}", None),
    ("GET", "/v1/datasets/{dataset}/mock", None),
    ("POST", "/v1/explain", QUESTION),
    ("POST", "/v1/ask", QUESTION),
    ("POST", "/v1/jobs", JOB),
    ("POST", "/v1/jobs/explain", JOB),
]


@pytest.mark.parametrize("seen", SEEN)
@pytest.mark.parametrize("dataset", ["visits", "payroll"])
@pytest.mark.parametrize(("method", "path", "body"), ABOUT, ids=[f"{method} {path}" for method, path, _ in ABOUT])
def test_a_dataset_that_is_not_theirs_is_answered_like_one_that_is_not_there(shared, seen, dataset, method, path, body):
    token = issue(shared.app.state.store, principal="eve", role="analyst", days=1, datasets=SEEN[seen])

    def told(name):
        filled = None if body is None else json.loads(json.dumps(body).replace("{dataset}", name))
        reply = shared(method, path.replace("{dataset}", name), as_=token, json=filled)
        text = re.sub(r'"instance": "\w+"', "", reply.text.replace(name, "it"))
        headers = {
            key: value for key, value in reply.headers.items() if key not in ("discreet-request", "content-length")
        }
        return reply.status_code, headers, text

    theirs = SEEN[seen] is None or dataset in SEEN[seen]
    found = told(dataset)

    assert (found == told("zzzzzzz")) == (not theirs)
    assert found[0] in ((200, 503) if theirs else (400, 404))  # 503: nothing runs here


def test_lists_hold_what_is_theirs(shared):
    def names(as_):
        return [found["name"] for found in shared("GET", "/v1/datasets", as_=as_).json()["datasets"]]

    assert names("ada") == ["visits"]
    assert names("steward") == names("auditor") == names("analyst") == ["visits", "payroll"]


def _impersonations(served):
    """Every way but the token in which a request may say who it is; those that are believed."""
    claims = {
        "header": {"headers": {"user_name": "the steward", "X-User": "the steward", "X-Forwarded-User": "the steward"}},
        "role header": {"headers": {"X-Role": "steward", "role": "steward", "principal": "the steward"}},
        "query": {"params": {"principal": "the steward", "user_name": "the steward", "role": "steward"}},
        "cookie": {"headers": {"Cookie": "user_name=the steward; principal=the steward; role=steward"}},
        "basic": {"headers": {"Proxy-Authorization": "Basic dGhlIHN0ZXdhcmQ6eA=="}},
        "cookie with a steward's token": {"headers": {"Cookie": f"session={served.tokens['steward']}"}},
        "query with a steward's token": {"params": {"token": served.tokens["steward"]}},
    }
    return [
        how
        for how, claim in claims.items()
        if served("GET", "/v1/me", as_="ada", **claim).json().get("principal") != "ada"
        or served("GET", "/v1/tokens", as_="ada", **claim).status_code != 403
        or served("GET", "/v1/me", as_=None, **claim).status_code != 401
    ]


def test_identity_comes_from_the_token_alone(shared):
    assert _impersonations(shared) == []


def test_a_twin_that_believes_a_user_name_header_is_caught(served, monkeypatch):
    honest = access.authenticated

    def twin(request):
        named = request.headers.get("user_name")
        return honest(request) if named is None else Principal(named, "steward", None, honest(request).token)

    monkeypatch.setattr(access, "authenticated", twin)

    assert _impersonations(served) == ["header"]


def test_a_body_cannot_say_who_pays(shared):
    for more in ({"analyst": "bob"}, {"principal": "bob"}):
        body = json.loads(json.dumps(QUESTION).replace("{dataset}", "visits")) | more
        assert shared("POST", "/v1/ask", as_="ada", json=body).status_code == 400


def test_expired_revoked_and_foreign_tokens_are_answered_alike(served, monkeypatch):
    store = served.app.state.store
    revoked, expired = (issue(store, principal="eve", role="steward", days=1) for _ in range(2))
    tokens.revoke(store, revoked[4:12])
    with store.writing() as connection:
        connection.exec_driver_sql(
            f"UPDATE service_tokens SET expires = {time.time() - 1} WHERE id = '{expired[4:12]}'"
        )
    wrong = [revoked, expired, f"dct_00000000_{'a' * 43}", served.tokens["steward"][:-1], "rubbish", "a.b.c"]

    told = {re.sub(r'"instance": "\w+"', "", served("GET", "/v1/me", as_=token).text) for token in wrong}
    codes = {served("GET", "/v1/me", as_=token).status_code for token in wrong}

    assert (len(told), codes) == (1, {401})
    assert served("GET", "/v1/me", as_=expired).headers["WWW-Authenticate"] == "Bearer"


def test_only_the_bearer_scheme_is_taken(shared):
    secret = shared.tokens["steward"]
    codes = {
        header: shared("GET", "/v1/me", as_=None, headers={"Authorization": header}).status_code
        for header in (secret, f"Basic {secret}", "Bearer", "Bearer ", f"Token {secret}", f"bearer {secret}")
    }

    assert [code for code in codes.values() if code != 401] == [200]
    assert codes[f"bearer {secret}"] == 200


def test_a_session_signs_in_and_out_and_dies_with_its_token(served):
    session = served("POST", "/v1/session", as_="ada").json()["secret"]
    second = served("POST", "/v1/session", as_="ada").json()["secret"]

    assert served("GET", "/v1/me", as_=session).json()["principal"] == "ada"
    assert served("GET", "/v1/datasets/payroll", as_=session).status_code == 404
    assert served("DELETE", "/v1/session", as_=session).status_code == 204
    assert served("GET", "/v1/me", as_=session).status_code == 401
    assert served("GET", "/v1/me", as_=second).status_code == 200
    assert served("DELETE", f"/v1/tokens/{served.tokens['ada'][4:12]}").status_code == 204
    assert served("GET", "/v1/me", as_=second).status_code == 401
    assert served("DELETE", "/v1/session", as_="steward").status_code == 409


def test_a_session_opens_no_session_that_would_outlive_it(served):
    session = served("POST", "/v1/session", as_="ada").json()["secret"]
    second = served("POST", "/v1/session", as_=session)

    assert (second.status_code, second.json()["type"]) == (403, "urn:discreet:problem:forbidden")
    assert "secret" not in second.json()
