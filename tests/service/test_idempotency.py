"""One key, one spend, one draw, the same bytes: for duplicates at once, one after another, and across kills."""

from __future__ import annotations

import json
import os
import signal
import time
from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction

import pytest

from discreet.ledger import Ledger
from discreet.service.running.outcome import Answered, Order, Outcome, Refused, Withheld
from discreet.service.running.records import Records
from discreet.service.settings import Settings
from discreet.service.store import open_store
from tests.scale import counts
from tests.service.children import House, question, settings, written

pytestmark = pytest.mark.usefixtures("unhurried")  # a busy machine withholds nothing for being late

DUPLICATES = counts(quick=60, full=10_000)
KILLS = counts(quick=2, full=40)
PRICE = Fraction(1, 2)


def broken(outcomes: list[Outcome], spends: list[Fraction]) -> list[str]:
    """What is wrong with replies to duplicates: they must be one reply, and one spend must have paid for it."""
    told = {json.dumps(found.document, sort_keys=True) for found in outcomes if isinstance(found, Answered)}
    return [f"{len(told)} answers"] * (len(told) > 1) + [f"{len(spends)} spends"] * (len(spends) != 1)


def test_duplicates_at_once_are_one_spend_and_one_answer(house):
    orders = [question("dan", key="k1", fresh=True) for _ in range(DUPLICATES)]
    outcomes = house.all(*orders) + house.all(*orders[:20])

    assert all(isinstance(found, Answered) for found in outcomes)
    assert broken(outcomes, house.spends("dan")) == []


def test_two_server_processes_share_their_keys(house):
    """A second runner on the same file, as another worker has: both at once, one pays, and both tell the same."""
    outcomes = _in_two(house, settings(house.file, children=2), question("flo", key="k2", fresh=True))

    assert all(isinstance(found, Answered) for found in outcomes)
    assert broken(outcomes, house.spends("flo")) == []


def test_the_twin_that_keeps_keys_in_memory_is_caught(house):
    """Two runners on one ledger, each with records of its own: under the same key each of them draws."""
    apart = str(house.file.with_name("apart.db"))
    outcomes = _in_two(house, settings(house.file, children=2, store=apart), question("guy", key="k2", fresh=True))

    assert broken(outcomes, house.spends("guy")) == ["2 answers", "2 spends"]


def _in_two(house: House, chosen: Settings, order: Order) -> list[Outcome]:
    """The outcomes of one order in two runners at the same time, and once more in each."""
    other = House(house.file, chosen)
    try:
        with ThreadPoolExecutor(2) as both:
            found = [one for _ in range(2) for one in both.map(lambda one: one.all(order, order), (house, other))]
    finally:
        other.close()
    return [outcome for outcomes in found for outcome in outcomes]


def test_another_request_under_the_same_key_is_refused_free(house):
    first = question("hal", key="k3")
    other = question("hal", key="k3", epsilon="0.25")
    at_once = house.all(first, other)
    later = house.all(other)

    assert isinstance(at_once[0], Answered)
    for found in (at_once[1], later[0]):
        assert isinstance(found, Refused)
        assert found.problem["status"] == 409
    assert house.spends("hal") == [PRICE]


def test_a_key_is_bound_although_its_first_use_was_free(house, unhurried):
    """The question was paid for without a key: under one it is free, and another request under that is refused."""
    paid, replayed = house.all(question("kai")), house.all(question("kai", key="k9"))
    other, again = house.all(question("kai", key="k9", epsilon="0.25")), house.all(question("kai", key="k9"))

    assert isinstance(paid[0], Answered)
    assert isinstance(replayed[0], Answered)
    assert isinstance(other[0], Refused)
    assert other[0].problem["status"] == 409
    assert again == replayed
    assert house.spends("kai") == [PRICE]


def test_keys_belong_to_a_principal(house):
    ida, joe = house.all(question("ida", key="k4"), question("joe", key="k4"))

    assert isinstance(ida, Answered)
    assert isinstance(joe, Answered)
    assert house.spends("ida") == house.spends("joe") == [PRICE]


def test_a_refused_order_leaves_its_key_free(house):
    refused = house.all(question("leo", key="k5", epsilon="100001"))
    paid = house.all(question("leo", key="k5"))

    assert isinstance(refused[0], Refused)
    assert isinstance(paid[0], Answered)
    assert house.spends("leo") == [PRICE]


def test_an_order_that_was_withheld_stays_withheld_and_is_not_paid_again(house):
    first = house.all(question("mia after crash", key="k6"))
    again = house.all(question("mia after crash", key="k6"))

    assert isinstance(first[0], Withheld)
    assert isinstance(again[0], Withheld)
    assert house.spends("mia after crash") == [PRICE]


def test_an_order_whose_child_was_killed_at_any_moment_pays_once(house):
    """Children are killed at moments spread over the life of an order, which is then sent twice more.

    Of a child that died between "paying" and its last word nobody knows how far it came: that reply is withheld, and
    whoever asks again is told what the ledger has.  What is told then is told ever after.
    """
    names = [f"nat {number}" for number in range(KILLS)]
    moments = [0.002 + 0.15 * number / KILLS for number in range(KILLS)]
    outcomes = {}
    for name, moment in zip(names, moments, strict=True):
        outcomes[name] = [house.call(_killed(house, name, moment))]
        outcomes[name] += [house.all(question(name, key="k7", fresh=True))[0] for _ in range(2)]

    for name in names:
        told = [json.dumps(getattr(found, "document", None), sort_keys=True) for found in outcomes[name]]
        assert len(house.spends(name)) == 1
        assert not any(isinstance(found, Refused) for found in outcomes[name][1:])
        assert told[1] == told[2]
        assert told[0] == told[1] or not isinstance(outcomes[name][0], Answered)


async def _killed(house: House, name: str, moment: float) -> Outcome:
    """An order whose child is killed after a moment."""
    import asyncio

    waiting = asyncio.ensure_future(house.runner.ask(question(name, key="k7", fresh=True)))
    await asyncio.sleep(moment)
    for child in house.runner._all - set(house.runner._idle):
        os.kill(child.pid, signal.SIGKILL)
    return await waiting


def test_an_answer_that_was_stored_but_not_told_is_told_again_free(house):
    """The process dies between the ledger's store and its own record: the ledger has the answer."""
    order = question("oda", key="k8", fresh=True)
    (first,) = house.all(order)
    with open_store(house.settings) as store:
        with store.writing() as connection:
            connection.exec_driver_sql("UPDATE service_orders SET reply = NULL WHERE principal = 'oda'")
        known = Records(store).known(order)
    (again,) = house.all(order)

    assert known is not None
    assert isinstance(first, Answered)
    assert isinstance(again, Answered)
    assert again.document["released"] == first.document["released"]
    assert house.spends("oda") == [PRICE]


def test_the_same_question_without_a_key_is_answered_from_the_ledger_at_once(house):
    (first,) = house.all(question("pia"))
    started = time.monotonic()
    (again,) = house.all(question("pia"))

    assert isinstance(first, Answered)
    assert isinstance(again, Answered)
    assert again.document["released"] == first.document["released"]
    assert again.document["receipt"]["replayed"] is True  # type: ignore[index]
    assert house.spends("pia") == [PRICE]
    assert time.monotonic() - started < 60  # it waits for no slot; the bound is only against waiting for ever


def test_keys_hold_where_ledger_and_records_are_on_a_server(postgres_url, tmp_path):
    """PostgreSQL instead of files: duplicates, a crash after the spend, and another request under a key."""
    file = written(tmp_path, ledger=postgres_url)
    house = House(file, settings(file, children=3, store=postgres_url))
    try:
        orders = [question("dan", key="k1", fresh=True)] * 5 + [question("mia after crash", key="k6")]
        outcomes = house.all(*orders)
        again = house.all(*orders, question("dan", key="k1"))
        spends = house.spends("dan"), house.spends("mia after crash")
    finally:
        house.close()

    assert broken([*outcomes[:5], *again[:5]], spends[0]) == []
    assert isinstance(again[0], Answered)
    assert isinstance(outcomes[5], Withheld)
    assert isinstance(again[5], Withheld)
    assert isinstance(again[6], Refused)
    assert spends[1] == [PRICE]


def test_the_ledger_is_whole_after_all_of_it(house):
    with Ledger.open(house.file.with_name("ledger.db"), create=False) as ledger:
        ledger.verify()
