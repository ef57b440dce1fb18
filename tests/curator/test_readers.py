"""Whatever stands where we read something, it is read, or refused with an error of ours: no other exception.

Five readers take text from outside: SQL, the body of a question with its plan, the entries of a ledger, events in
them, and the curator's file.  Right texts are cut, doubled, spliced and sprinkled with hostile words and bytes.
"""

from __future__ import annotations

import json
import tomllib
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from discreet.curator import config
from discreet.curator.explain import explain
from discreet.curator.question import read as read_question
from discreet.errors import DiscreetError, LedgerError
from discreet.ledger import Anchor, Ledger
from discreet.ledger.amount import read as read_price
from discreet.ledger.amount import read_cap
from discreet.ledger.book import Book
from discreet.ledger.chain import Entry, digest, follow
from discreet.privacy.event import GaussianEvent, LaplaceEvent, RepeatedEvent, from_dict
from discreet.privacy.guarantee import ApproxDP
from discreet.queries.sql import parse
from discreet.service.settings import Settings
from discreet.service.wire import Explain
from tests.scale import counts
from tests.service.conftest import TOML

CASES = counts(quick=150, full=20_000)
quickly = settings(max_examples=CASES, deadline=None, suppress_health_check=list(HealthCheck))
WORDS = [
    "", " ", "0", "-1", "1e999", "1e-4999", "9" * 400, "1/0", "1/00", "nan", "inf", "null", "true", '"', "'", "\\",
    "\n", "#", "[", "]", "{", "}", "[[", "(", ")", ",", ".", "=", "::", "--", "/*", ";", "*", "\0", "\x7f", "\u0661",
    "\ud800", "2020-01-01", "epsilon", "delta", "rho", "kind", "unit", "tables", "SELECT", "FROM visits", "GROUP BY",
    "COUNT(*)", "age", "[budget]",
]  # fmt: skip
edits = st.tuples(st.floats(0, 1), st.integers(0, 12), st.sampled_from(WORDS) | st.text(max_size=6), st.integers(1, 3))


def edited(bases):
    """One of some right texts after a few edits: a span is taken out, and a word put there, perhaps repeated."""

    @st.composite
    def made(draw):
        text = draw(st.sampled_from(bases))
        for place, length, word, times in draw(st.lists(edits, max_size=4)):
            at = int(place * len(text))
            text = text[:at] + word * times + text[at + length :]
        return text

    return made()


values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.sampled_from(WORDS) | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(st.sampled_from(WORDS) | st.just("event"), inner, max_size=4)
    ),
    max_leaves=8,
)


def bent(documents):
    """One of some right documents with one of its values, at any depth, exchanged for another."""

    @st.composite
    def made(draw):
        document = json.loads(json.dumps(draw(st.sampled_from(documents))))
        inside = document
        while True:
            places = list(inside) if isinstance(inside, dict) else list(range(len(inside)))
            place = draw(st.sampled_from(places))
            deeper = inside[place]
            if not isinstance(deeper, (dict, list)) or not deeper or draw(st.booleans()):
                inside[place] = draw(values)
                return document
            inside = deeper

    return made()


TABLES = config.tables(tomllib.loads(TOML), Path())
QUESTIONS = [
    "SELECT ward, AVG(cost) AS c FROM visits GROUP BY ward HAVING c > 3 ORDER BY c DESC LIMIT 2",
    "SELECT MEDIAN(salary) AS m, MAX(salary) AS h FROM payroll",
    "SELECT SUM(CASE WHEN age > 64 THEN cost ELSE 0 END) AS s FROM visits WHERE NOT readmitted AND ward IN ('surgery')",
]


@quickly
@given(edited(QUESTIONS))
def test_no_sql_makes_the_reader_fail(text):
    try:
        query = parse(text, TABLES)
    except DiscreetError:
        return
    assert parse(str(query), TABLES) == query


BODIES = [
    json.dumps({"question": QUESTIONS[0], "epsilon": "0.1", "beta": 0.05}),
    json.dumps({"question": QUESTIONS[1], "budget": {"epsilon": 1, "delta": "1e-6"}, "rows_per_unit": 3}),
    json.dumps({"question": "SELECT COUNT(*) AS n FROM visits", "error": 30, "groups_per_unit": 2}),
    json.dumps({"question": QUESTIONS[2], "budget": {"rho": "0.005"}}),
]


@quickly
@given(edited(BODIES))
def test_no_body_of_a_question_makes_its_plan_fail(text):
    try:
        document = json.loads(text)
        body = Explain(**document) if isinstance(document, dict) else None
    except (ValidationError, ValueError, RecursionError):
        return
    if body is None:
        return
    with suppress(DiscreetError):
        query = read_question(body.question, TABLES)
        made = explain(query, query.source.table(), beta=body.beta, **body.wanted(), **body.bounds())
        json.dumps(made.to_dict() | {"text": str(made)})


@pytest.fixture(scope="module")
def entries():
    """A ledger with an entry of every kind."""
    with Ledger.open(":memory:") as ledger:
        ledger.register(unit="patient", cap=ApproxDP(2, 1e-6))
        ledger.sub_cap("visits", ApproxDP(1, 1e-6), unit="patient", reason="a pilot")
        ledger.allot("ada", ApproxDP(1, 1e-6), unit="patient")
        for item in (LaplaceEvent(scale=10, sensitivity=1), GaussianEvent(sigma=50, sensitivity=1)):
            paid = ledger.spend(item, unit="patient", tables=["visits"], analyst="ada", key=str(item), query="SELECT")
            ledger.store(paid, b"1")
        ledger.top_up("patient", ApproxDP(3, 1e-6), reason="more")
        ledger.renew("patient", period="2027", cap=ApproxDP(1, 1e-7), reason="a year")
        ledger.retire("visits", reason="over")
        ledger.reopen("visits", reason="not over")
        ledger.erase("visits", version="2", requests=3)
        yield list(ledger.entries())


@quickly
@given(st.data())
def test_no_entry_makes_the_ledgers_reader_fail(entries, data):
    """An altered entry with the right hash, after the right ones: read and replayed, or refused."""
    place = data.draw(st.integers(0, len(entries) - 1))
    altered = edited([entries[place].body]) | bent([entries[place].record]).map(json.dumps)
    body = data.draw(altered).encode(errors="replace").decode()  # as a database holds it
    book, altered = Book(), Entry(place, body, digest(body.encode()))
    for entry in entries[:place]:
        book.apply(entry.record)
    with suppress(DiscreetError):
        book.apply(altered.record)
        list(follow([*entries[:place], altered]))


@quickly
@given(values, st.sampled_from(["PureDP", "ApproxDP", "ZCDP", "GaussianDP", 3, None]))
def test_no_value_makes_the_readers_of_prices_caps_and_anchors_fail(value, kind):
    for read in (read_price, read_cap, lambda one: Anchor.read(json.dumps(one)), lambda one: Anchor.read(str(one))):
        for given_ in (value, {"kind": kind, "epsilon": value, "delta": value, "rho": "1", "neighbours": value}):
            with suppress(LedgerError):
                read(given_)


EVENTS = [
    json.dumps(one.to_dict())
    for one in (
        LaplaceEvent(scale=10, sensitivity=1),
        RepeatedEvent(event=GaussianEvent(sigma=5, sensitivity=1), count=3),
    )
]


@quickly
@given(edited(EVENTS) | bent([json.loads(one) for one in EVENTS]).map(json.dumps))
def test_no_text_makes_the_reader_of_events_fail(text):
    try:
        record = json.loads(text)
    except (ValueError, RecursionError):
        return
    if not isinstance(record, dict):
        return
    with suppress(DiscreetError):
        assert from_dict(from_dict(record).to_dict()) == from_dict(record)


SERVICE = """
[service]
port = 9000
slot = 2.0
workers = 2

[service.approval]
epsilon = "0.5"

[service.slots]
visits = 2.5

[service.oidc]
issuer = "https://id.example.org/"
audience = "discreet"
jwks = "keys.json"
roles = { researchers = "analyst" }
"""


@quickly
@given(edited([TOML, TOML + SERVICE]), st.sampled_from([b"", b"\xff", b"\xc3\x28", b"\xef\xbb\xbf"]))
def test_no_file_makes_the_curators_reader_fail(tmp_path_factory, text, first):
    file = tmp_path_factory.getbasetemp() / "edited.toml"
    file.write_bytes(first + text.encode(errors="surrogatepass"))
    for read in (_declared, Settings.read):
        with suppress(DiscreetError):
            read(file)


@quickly
@given(bent([tomllib.loads(TOML)]))
def test_no_declaration_makes_the_curators_reader_fail(document):
    with suppress(DiscreetError):
        _known(document, Path())


def _declared(file):
    _known(config.read(file), file.parent)


def _known(found, folder):
    config.budget(found.get("budget"))
    config.tables(found, folder)
    config.place(found, folder)


@pytest.mark.parametrize("reader", [tomllib.loads, json.loads], ids=["toml", "json"])
def test_a_twin_that_lets_a_librarys_error_through_would_be_seen(reader):
    """The same edits make the readers underneath raise what is not ours."""
    seen = []

    @settings(max_examples=200, deadline=None, database=None)
    @given(edited([TOML, BODIES[0]]))
    def fed(text):
        try:
            reader(text)
        except ValueError as error:
            seen.append(error)

    fed()
    assert seen
    assert not any(isinstance(error, DiscreetError) for error in seen)
