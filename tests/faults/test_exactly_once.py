"""Exactly once: the same question at the same time is one spend, one draw and the same bytes for all who ask."""

from __future__ import annotations

from collections import defaultdict
from fractions import Fraction

import pytest

from discreet.errors import LedgerError
from discreet.ledger import Ledger
from discreet.privacy.event import PureEvent
from tests.faults.duplicates import PROCESSES, THREADS
from tests.faults.life import EPSILON, ask, asked_number, opened
from tests.faults.processes import run
from tests.scale import counts


def _seen(said: list[str]) -> dict[int, set[str]]:
    """The different answers to each question."""
    found = defaultdict(set)
    for line in said:
        number, *answer = line.split()
        found[int(number)].add(tuple(answer))
    return found


def _spends(target) -> dict[int, list[int]]:
    found = defaultdict(list)
    with Ledger.open(target, create=False) as ledger:
        for record in (entry.record for entry in ledger.entries()):
            if record["kind"] == "spend":
                found[asked_number(record["query"])].append(record["id"])
    return found


def test_those_who_ask_the_same_at_once_get_one_draw_for_one_spend(target, record_property):
    keys = counts(quick=10, full=400)
    said = run("duplicates", "ask", target, keys, 0, "ledger")
    record_property("duplicates", len(said))

    assert len(said) == keys * PROCESSES * THREADS
    assert set(map(len, _seen(said).values())) == {1}
    assert set(map(len, _spends(target).values())) == {1}


def test_across_kills_and_restarts_no_second_draw_is_seen(target, record_property):
    """One killed after paying and before storing showed nothing; the next one pays, and all see what it drew."""
    keys, kills = counts(quick=12, full=300), counts(quick=6, full=150)
    said = run("duplicates", "ask", target, keys, kills, "ledger")
    seen, paid = _seen(said), _spends(target)
    again = opened(target)
    for number in range(keys):
        seen[number] |= _seen([ask(again, number)])[number]
    again.ledger.close()
    record_property("duplicates", len(said) + keys)
    record_property("kills", kills)
    record_property("paid_again", sum(len(spends) - 1 for spends in paid.values()))

    assert set(map(len, seen.values())) == {1}
    assert all(int(answer[0]) == paid[number][-1] for number, (answer,) in seen.items())
    assert sum(len(spends) - 1 for spends in paid.values()) <= kills * THREADS
    assert _spends(target) == paid  # asking again was free


def test_the_twin_with_keys_in_memory_is_caught(target):
    seen = _seen(run("duplicates", "ask", target, 5, 0, "memory"))

    assert max(map(len, seen.values())) > 1
    assert max(map(len, _spends(target).values())) > 1


def test_a_key_is_its_analysts_and_stands_for_one_request(target):
    price, other = PureEvent(epsilon="3/100"), PureEvent(epsilon="4/100")
    with Ledger.open(target) as ledger:

        def spend(event=price, analyst="ada", **wanted):
            request = {"unit": "patient", "tables": ["visits"], "key": "k", "query": "SELECT 1"} | wanted
            return ledger.spend(event, analyst=analyst, **request)

        first, bob = spend(), spend(analyst="bob")
        ledger.store(first, b"answer")
        spent = ledger.budget("patient").balance.spent
        for another in ({"event": other}, {"query": "SELECT 2"}, {"tables": ["bills"]}, {"version": "2"}):
            with pytest.raises(LedgerError, match="another request"):
                spend(**another)

        assert spend().id == first.id != bob.id
        assert ledger.recall("k", analyst="ada") == b"answer"
        assert ledger.recall("k", analyst="bob") is None
        assert ledger.budget("patient").balance.spent == spent
        assert spent.epsilon == 2 * Fraction(EPSILON)
