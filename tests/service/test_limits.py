"""discreet.service.limits: requests a minute, bytes, depth and time; each refused with what to do."""

from __future__ import annotations

import asyncio
import gzip
import json
import threading

import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.curator import explain, plan
from discreet.service import desk, limits
from discreet.service.limits import Limits, body_of, depth
from discreet.service.problems import Problem
from discreet.service.routes import questions
from discreet.service.settings import Settings
from tests.service.conftest import opened

Q = {"question": "SELECT COUNT(*) AS n FROM visits", "epsilon": 0.1}


def test_a_principal_is_stopped_at_the_rate_and_others_are_not():
    now = [0.0]
    found = Limits(rate=60, clock=lambda: now[0])
    for _ in range(60):
        found.take("ada")
    with pytest.raises(Problem) as refused:
        found.take("ada")
    found.take("bob")
    now[0] += 1.0
    found.take("ada")
    with pytest.raises(Problem):
        found.take("ada")

    assert (refused.value.slug, refused.value.headers) == ("too-many-requests", {"Retry-After": "1"})


def test_the_rate_holds_over_http_with_a_time_to_wait(file):
    with opened(file, Settings(store=str(file.parent / "service.db"), rate=3)) as served:
        codes = [served("GET", "/v1/me", as_="ada").status_code for _ in range(4)]
        reply = served("GET", "/v1/me", as_="ada")

        assert codes == [200, 200, 200, 429]
        assert int(reply.headers["Retry-After"]) >= 1
        assert reply.json()["type"] == "urn:discreet:problem:too-many-requests"
        assert served("GET", "/v1/me", as_="auditor").status_code == 200


def test_a_principal_has_so_many_requests_at_once_and_leaves_the_others_theirs(served):
    limits_ = served.app.state.limits
    for _ in range(limits.AT_ONCE):
        limits_.enter("ada")
    refused = served("GET", "/v1/me", as_="ada")
    others = served("GET", "/v1/me", as_="analyst")
    limits_.leave("ada")

    assert (refused.status_code, refused.headers["Retry-After"]) == (429, "1")
    assert others.status_code == 200
    assert [served("GET", "/v1/me", as_="ada").status_code for _ in range(3)] == [200] * 3  # each place is given back


@pytest.mark.parametrize("path", ["/v1/nothing", "/v1/datasets/nothing", "/v1/datasets/visits/mock?rows=x"])
def test_a_refused_request_gives_its_place_back(served, path):
    for _ in range(2 * limits.AT_ONCE):
        assert served("GET", path, as_="ada").status_code in (400, 404)


@pytest.mark.parametrize("path", ["/v1/tokens/%00", "/v1/datasets/%0a", "/v1/jobs/%1b", "/%7f"])
def test_an_address_with_control_characters_is_not_there(served, path):
    assert served("GET", path).status_code == 404


nested = st.recursive(
    st.one_of(st.text(alphabet='[]{}"\\a'), st.integers()),
    lambda x: st.lists(x, max_size=3) | st.dictionaries(st.text('[{"'), x, max_size=3),
)


def _depth(value) -> int:
    match value:
        case dict():
            return 1 + max(map(_depth, value.values()), default=0)
        case list():
            return 1 + max(map(_depth, value), default=0)
        case _:
            return 0


@given(nested)
def test_depth_is_that_of_the_brackets_outside_of_texts(value):
    assert depth(json.dumps(value).encode()) == _depth(value)


@pytest.mark.parametrize(
    ("body", "headers", "status", "slug"),
    [
        (b"x" * 300_000, {}, 413, "too-large"),
        (b'{"question": ' + b"[" * 10_000, {}, 400, "unreadable"),
        (b"[" * 65 + b"]" * 65, {}, 400, "unreadable"),
        (gzip.compress(b"0" * 10_000_000), {"Content-Encoding": "gzip"}, 415, "media-type"),
        (b'{"question": "x"', {}, 400, "unreadable"),
        (b"\xff\xfe", {}, 400, "unreadable"),
        (b'{"question": ' + b"9" * 5000 + b"}", {}, 400, "unreadable"),
        (b"null", {}, 400, "parameter"),
        (b"", {}, 400, "parameter"),
    ],
)
def test_a_body_beyond_the_limits_is_refused_before_it_is_read(served, body, headers, status, slug):
    reply = served("POST", "/v1/explain", content=body, headers={"Content-Type": "application/json", **headers})

    assert (reply.status_code, reply.json()["type"]) == (status, f"urn:discreet:problem:{slug}")
    assert len(reply.content) < 1500


def test_a_body_that_lies_about_its_length_is_stopped_all_the_same():
    sent = iter([{"type": "http.request", "body": b"x" * 600, "more_body": True}] * 10)

    async def receive():
        return next(sent)

    with pytest.raises(Problem) as refused:
        asyncio.run(body_of({"headers": [(b"content-length", b"1")]}, receive, most=1024))
    assert refused.value.slug == "too-large"
    assert len(list(sent)) == 8  # it was not read to its end


@pytest.mark.parametrize("gone", [False, True])
def test_a_client_that_is_slow_or_goes_away_is_let_go(monkeypatch, gone):
    monkeypatch.setattr(limits, "PATIENCE", 0.01)

    async def receive():
        if gone:
            return {"type": "http.disconnect"}
        return await asyncio.Event().wait()

    with pytest.raises(Problem) as refused:
        asyncio.run(body_of({"headers": []}, receive, most=1024))
    assert refused.value.slug == "unreadable"


def test_a_question_within_the_limits_is_read(served):
    assert served("POST", "/v1/explain", json=Q).status_code == 200


@pytest.mark.parametrize("price", [{"epsilon": 0.1}, {"error": 10}])
def test_a_question_whose_plan_would_hold_a_process_up_is_refused(served, price):
    most = desk.SEARCHED if "error" in price else desk.PLANNED

    def asked(count):
        sums = ", ".join(f"SUM(age * {i}) AS s{i}" for i in range(1, count + 1))
        return served("POST", "/v1/explain", json={"question": f"SELECT {sums} FROM visits"} | price)

    assert asked(most).status_code == 200
    assert asked(most + 1).json()["type"] == "urn:discreet:problem:unsupported"


@pytest.mark.parametrize("aggregate", ["QUANTILE(cost, 0.{:02d})", "VARIANCE(cost + {})"])
def test_the_work_of_an_explanation_grows_with_its_aggregates_and_not_with_their_square(served, monkeypatch, aggregate):
    """Explaining is free: a hundred quantiles once kept a process busy for five seconds, looking the same things up."""
    looked = []
    for module in (plan, explain):  # where an aggregate is taken apart, and where its parts are found again
        for owner, name in ((module, "parts"), (getattr(module, "Plan", None), "of")):
            real = getattr(owner, name, None)
            if real is not None:
                monkeypatch.setattr(owner, name, _counted(real, looked))

    def work(count):
        looked.clear()
        wanted = ", ".join(f"{aggregate.format(i)} AS q{i}" for i in range(1, count + 1))
        body = {"question": f"SELECT {wanted} FROM visits", "epsilon": "0.1"}
        assert served("POST", "/v1/explain", json=body).status_code == 200
        return len(looked)

    few, many = work(10), work(80)

    assert few > 0
    assert many <= 8 * few + 8


def _counted(real, looked):
    def counted(*given):
        looked.append(1)
        return real(*given)

    return counted


def test_an_answer_too_wide_to_send_is_refused_free_before_it_is_ordered(asking, monkeypatch):
    monkeypatch.setattr(desk, "ANSWERED", 6)
    two = "SELECT ward, COUNT(*) AS n, SUM(age) AS s FROM visits GROUP BY ward"
    three = two.replace(" FROM", ", SUM(cost) AS t FROM")
    refused = [
        asking("POST", path, as_="ada", json={"question": three, "epsilon": 0.1}) for path in ("/v1/explain", "/v1/ask")
    ]

    assert [reply.json()["type"] for reply in refused] == ["urn:discreet:problem:unsupported"] * 2
    assert asking.app.state.runner.orders == []
    assert asking("POST", "/v1/ask", as_="ada", json={"question": two, "epsilon": 0.1}).status_code == 200


def test_a_reply_is_written_beside_the_event_loop(asking, monkeypatch):
    threads, written = [], questions.answer_bytes
    monkeypatch.setattr(
        questions, "answer_bytes", lambda document: threads.append(threading.current_thread()) or written(document)
    )
    asking("POST", "/v1/ask", as_="ada", json=Q).raise_for_status()

    assert threads
    assert asking._thread not in threads
