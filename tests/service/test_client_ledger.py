"""discreet.service.client_ledger: the ledger of a service as its client shows it, and what it does not believe."""

from __future__ import annotations

import json

import httpx
import pytest

from discreet.errors import LedgerError, ParameterError, ServiceError
from discreet.ledger import Anchor
from discreet.service import client_ledger
from discreet.service.client_connection import Connection
from discreet.service.client_ledger import ServedLedger
from tests.service.inline import ask


def _ledger(served, role, change=lambda path, document: document):
    """The ledger of an app as a principal sees it, with whatever somebody does to the replies on their way."""

    def forward(request):
        accept = {name: request.headers[name] for name in ("Authorization", "Accept")}
        reply = served(request.method, request.url.raw_path.decode(), as_=None, headers=accept)
        body = reply.content
        if reply.headers["content-type"] == "application/json":
            body = json.dumps(change(request.url.path, reply.json())).encode()
        return httpx.Response(reply.status_code, content=body)

    made = Connection("http://127.0.0.1:1", "unused", wait=lambda _: None)
    headers = {"Authorization": f"Bearer {served.tokens[role]}"}
    made.http.close()
    made.http = httpx.Client(base_url=made.url, headers=headers, transport=httpx.MockTransport(forward))
    return ServedLedger(made)


@pytest.fixture
def spent(asking):
    """A service whose ledger has seen two analysts."""
    ask(asking)
    ask(asking, as_="analyst")
    return asking


def test_a_client_shows_the_ledger_that_the_curator_has(spent, monkeypatch):
    monkeypatch.setattr(client_ledger, "PAGE", 3)
    mine, found = spent.app.state.desk.curator.ledger, _ledger(spent, "auditor")

    assert list(found.entries()) == list(mine.entries())
    assert list(found.entries(start=4)) == list(mine.entries(start=4))
    assert found.anchor() == found.verify() == mine.anchor()
    assert found.report().to_dict()["anchor"] == json.loads(found.report().to_json())["anchor"]
    assert found.report().to_html().startswith("<!doctype html>")


def test_an_analyst_sees_their_own_spends_and_no_anchor(spent):
    found = _ledger(spent, "ada")

    assert {(entry.record["kind"], entry.record["analyst"]) for entry in found.entries()} == {("spend", "ada")}
    for refused in (found.anchor, found.verify, found.report().to_html):
        with pytest.raises(ServiceError, match="role auditor or steward") as caught:
            refused()
        assert (caught.value.kind, caught.value.charged) == ("forbidden", False)


def test_with_an_anchor_the_chain_is_followed_here(spent):
    found, early = _ledger(spent, "auditor"), spent.app.state.desk.curator.ledger.anchor()
    ask(spent, fresh=True)

    assert found.verify(anchor=early).id > early.id
    with pytest.raises(LedgerError, match="another history"):
        found.verify(anchor=Anchor(early.id, "0" * 64))
    with pytest.raises(LedgerError, match="rolled back"):
        found.verify(anchor=Anchor(early.id + 99, early.hash))


def _cheaper(path, document):
    """A price that was made smaller on the way."""
    return json.loads(json.dumps(document).replace("1/10", "1/20")) if path == "/v1/ledger" else document


def _without(path, document):
    """A spend that is not shown."""
    if path != "/v1/ledger":
        return document
    return document | {"entries": [one for one in document["entries"] if one["body"]["id"] != 3]}


def _elsewhere(path, document):
    """Verified is another ledger."""
    return document | {"anchor": {"id": 1, "hash": "0" * 64}} if path == "/v1/ledger/verify" else document


@pytest.mark.parametrize(
    ("change", "match"),
    [(_cheaper, "was altered"), (_without, "is missing"), (_elsewhere, "not those that it verified")],
)
def test_a_ledger_that_was_changed_on_its_way_is_not_called_whole(spent, change, match):
    anchor = spent.app.state.desk.curator.ledger.anchor()

    with pytest.raises(LedgerError, match=match):
        _ledger(spent, "auditor", change).verify(anchor=anchor)


def test_the_service_alone_would_not_have_seen_it(spent):
    """Why an anchor is worth keeping: what the service says of itself is as good as the service."""
    assert _ledger(spent, "auditor", _cheaper).verify()


@pytest.mark.parametrize("odd", [{}, {"anchor": 3}, {"anchor": {"id": "3", "hash": "x"}}, {"entries": 7}])
def test_a_reply_that_is_no_ledger_is_refused(spent, odd):
    found = _ledger(spent, "auditor", lambda path, document: odd)

    for asked in (found.anchor, found.verify, lambda: list(found.entries())):
        with pytest.raises(ServiceError, match="can read"):
            asked()


def test_pages_that_lead_back_end(spent):
    found = _ledger(spent, "auditor", lambda path, document: document | {"next": 0})

    assert len(list(found.entries())) == spent.app.state.desk.curator.ledger.anchor().id + 1


@pytest.mark.parametrize("start", [-1, 1.0, True, "3"])
def test_entries_begin_at_a_number(spent, start):
    with pytest.raises(ParameterError, match="start >= 0"):
        list(_ledger(spent, "auditor").entries(start=start))
