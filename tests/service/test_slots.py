"""A charged reply leaves at the end of its slot, whatever happened in it; nobody's orders wait for a hostile tenant's.

Nothing here depends on how fast the machine is: what is compared are the moments for which replies were scheduled.
"""

from __future__ import annotations

import asyncio
import time

import pytest

from discreet.service.running import runner as running
from discreet.service.running.outcome import Answered, Order, Refused, Withheld
from discreet.service.running.schedule import Slot
from tests.service.children import MARGIN, SLOT, House, question, settings, written


@pytest.fixture
def scheduled(house, monkeypatch):
    """The slot of every order that was run, and the moment for which its reply was scheduled, by principal."""
    slots: dict[str, Slot] = {}
    moments: list[float] = []
    run, until = house.runner._run, running.until

    async def noted_run(child, order, slot, heard):
        slots[order.principal] = slot
        return await run(child, order, slot, heard)

    async def noted_until(moment):
        moments.append(moment)
        await until(moment)

    monkeypatch.setattr(house.runner, "_run", noted_run)
    monkeypatch.setattr(running, "until", noted_until)
    return slots, moments


async def full(house: House) -> None:
    """Wait until every child that was lost has been replaced."""
    while len(house.runner._all) < house.settings.children:
        await asyncio.sleep(0.05)


def unequal(slots: dict[str, Slot], moments: list[float]) -> set[float]:
    """Moments that are not the end of somebody's slot."""
    return set(moments) ^ {slot.start + SLOT for slot in slots.values()}


def test_answers_failures_and_overruns_leave_at_the_end_of_their_slots(house, scheduled):
    names = ["dee", "dee after slow", "dee after error", "dee after crash", "dee after sleep", "dee after memory"]
    started = time.monotonic()
    outcomes = house.all(*map(question, names))
    slots, moments = scheduled

    assert [type(found) for found in outcomes] == [Answered, Answered, Withheld, Withheld, Withheld, Withheld]
    assert len(moments) == len(names)
    assert unequal(slots, moments) == set()
    assert all((slot.seconds, slot.margin) == (SLOT, MARGIN) for slot in slots.values())
    assert time.monotonic() >= max(slot.send_at for slot in slots.values()) > started  # never before it is over


def test_the_twin_that_only_sleeps_to_a_minimum_is_caught(house, scheduled, monkeypatch, unhurried):
    """Replies that leave when the work is done, but not before a minimum, are late when the work is."""
    noted = running.until

    async def at_least(moment):
        await noted(max(moment, time.monotonic()))

    monkeypatch.setattr(running, "until", at_least)
    outcomes = house.all(question("fin"), question("fin after late"))
    slots, moments = scheduled

    assert [type(found) for found in outcomes] == [Answered, Answered]
    assert len(moments) == 2
    assert slots["fin after late"].send_at in unequal(slots, moments)  # the time of its work was to be seen
    assert max(moments) > slots["fin after late"].send_at


def test_the_twin_whose_guard_is_skipped_on_exceptions_is_caught(house, scheduled, monkeypatch, unhurried):
    """An error that is told at once leaves before its slot is over."""

    def told(heard):
        return heard.replayed or not isinstance(heard.outcome(), Answered)

    monkeypatch.setattr(running.Heard, "at_once", property(told))
    outcomes = house.all(question("gil"), question("gil after error"))
    slots, moments = scheduled

    assert [type(found) for found in outcomes] == [Answered, Withheld]
    assert unequal(slots, moments) == {slots["gil after error"].send_at}


def test_a_child_gets_no_other_order_before_its_slot_is_over(tmp_path):
    """With one child the second order starts at the end of the first one's slot, although the first was done early."""
    file = written(tmp_path)
    alone = House(file, settings(file, children=1))
    starts: list[float] = []
    run = alone.runner._run

    async def noted(child, order, slot, heard):
        starts.append(slot.start)
        return await run(child, order, slot, heard)

    alone.runner._run = noted  # type: ignore[method-assign]
    try:
        outcomes = alone.all(question("eli"), question("fay"))
    finally:
        alone.close()

    assert not any(isinstance(found, Refused) for found in outcomes)
    assert starts[1] - starts[0] >= SLOT


def test_a_refusal_and_a_replay_wait_for_no_slot(house, scheduled, unhurried):
    house.all(question("gus"))
    _, moments = scheduled
    before = len(moments)
    again = house.all(question("gus"), Order(kind="ask", principal="gus", body={"question": "SELECT 1", "epsilon": 1}))

    assert [type(found) for found in again] == [Answered, Refused]
    assert len(moments) == before == 1


def test_a_hostile_tenant_leaves_a_child_for_others(house, scheduled):
    """Eve sends more than there are children; Ada, who comes later, starts before Eve's first is over."""
    hostile = [question("eve after sleep", epsilon=f"0.{n}") for n in range(1, 7)]

    async def both():
        await full(house)
        eve = [asyncio.ensure_future(house.runner.ask(order)) for order in hostile]
        while "eve after sleep" not in scheduled[0]:
            await asyncio.sleep(0.01)
        first = dict(scheduled[0])
        ada = await house.runner.ask(question("ada"))
        return first, ada, await asyncio.gather(*eve)

    first, ada, eve = house.call(both())
    slots = scheduled[0]

    assert isinstance(ada, Answered)
    assert slots["ada"].start < first["eve after sleep"].send_at
    assert all(isinstance(found, Withheld) for found in eve)
    assert len(house.spends("eve after sleep")) == len(hostile)  # capped, and paid for


def test_a_full_line_turns_away_free_and_says_when_to_come_back(tmp_path):
    file = written(tmp_path)
    small = House(file, settings(file, children=1, queue=1))
    try:
        outcomes = small.all(*(question("eve", epsilon=f"0.{n}") for n in range(1, 5)))
        spends = small.spends("eve")
    finally:
        small.close()
    turned = [found for found in outcomes if isinstance(found, Refused)]

    assert len(turned) >= 2
    assert {found.problem["status"] for found in turned} == {429}
    assert all(found.problem["retry_after"] == SLOT + 1 for found in turned)
    assert len(spends) == len(outcomes) - len(turned)


def test_memory_is_limited_and_the_twin_without_limits_is_caught(house, tmp_path, unhurried):
    """700 MB at once: refused by the kernel to a child of 512 MB, and there for a child that was not confined.

    However long either takes: nobody is killed at the end of a slot, and no answer is withheld for being late.
    """
    folder = tmp_path / "unlimited"
    folder.mkdir()
    file = written(folder)
    twin = House(file, settings(file, children=1))
    try:
        (free,) = twin.all(question("kit after hold"))
    finally:
        twin.close()
    (limited,) = house.all(question("kit after hold"))

    assert isinstance(limited, Withheld)
    assert isinstance(free, Answered)


def test_children_that_were_lost_are_replaced(house):
    """All die; the next orders are answered all the same."""
    house.all(*(question(f"lou after {fault}") for fault in ("crash", "abort", "leave")))
    house.call(full(house))
    (found,) = house.all(question("lou"))

    assert isinstance(found, Answered)
    assert len(house.children()) == 4
