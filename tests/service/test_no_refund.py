"""Before a spend everything is free; after it everything is paid for, and told in one of two shapes.

Faults are injected into real children: errors, crashes, kills, memory, time.  The ledger is the witness.
"""

from __future__ import annotations

import asyncio
from fractions import Fraction

import pytest

from discreet.service.running.outcome import Answered, Order, Outcome, Refused, Withheld
from tests.scale import counts
from tests.service.children import House, question, settings, written
from tests.service.faulty import FAULTS

ROUNDS = counts(quick=1, full=30)  # of each of the seven faults
PRICE = Fraction(1, 2)


def unpaid(outcomes: list[Outcome], spends: list[Fraction]) -> list[str]:
    """What is wrong with a run: every outcome after a read is charged once, in full, and no other is."""
    touched = [found for found in outcomes if not isinstance(found, Refused)]
    wrong = [f"{len(touched)} outcomes after a read, {len(spends)} charges"] * (len(touched) != len(spends))
    return wrong + [f"charged {amount}" for amount in spends if amount != PRICE]


def faults(house: House, moment: str, rounds: int) -> tuple[list[Outcome], list[Fraction]]:
    """One order for each fault and round, and what was charged for them; faults strike side by side."""
    names = [f"una {moment} {fault}" for fault in FAULTS]
    outcomes: list[Outcome] = []
    for number in range(rounds):
        outcomes += house.all(*(question(name, fresh=True, key=f"round {number}") for name in names))
    return outcomes, [amount for name in names for amount in house.spends(name)]


def test_whatever_fails_after_the_spend_is_charged_in_full_and_withheld(house):
    outcomes, spends = faults(house, "after", ROUNDS)

    assert all(isinstance(found, Withheld) for found in outcomes)
    assert unpaid(outcomes, spends) == []
    assert len(spends) == ROUNDS * len(FAULTS)


def test_a_withheld_reply_says_nothing_of_the_reason(house):
    first, second = house.all(question("kim after error"), question("kim after crash"))

    assert isinstance(first, Withheld)
    assert isinstance(second, Withheld)
    assert set(first.receipt or {}) == set(second.receipt or {}) == {"id", "hash", "replayed"}


def test_whatever_fails_before_the_spend_is_free(house):
    outcomes, spends = faults(house, "before", ROUNDS)

    assert all(isinstance(found, Refused) for found in outcomes)
    assert spends == []


@pytest.mark.parametrize(
    "body",
    [
        {"question": "SELECT COUNT(*) FROM nowhere", "epsilon": 1},
        {"question": "SELECT COUNT(*) AS n FROM visits", "epsilon": "1000000"},
        {"question": "SELECT COUNT(*) AS n FROM visits", "epsilon": -1},
        {"question": "SELECT COUNT(*) AS n FROM visits", "budget": {"epsilon": 1, "rho": 1}},
        {"question": 7, "epsilon": 1},
        {"question": "SELECT COUNT(*) AS n FROM visits", "epsilon": 1, "beta": 2.0},
    ],
    ids=["table", "budget", "epsilon", "price", "question", "beta"],
)
def test_static_refusals_are_free(house, body):
    (found,) = house.all(Order(kind="ask", principal="ben", body=body))

    assert isinstance(found, Refused)
    assert found.problem["status"] in (400, 409)
    assert house.spends("ben") == []


def test_whoever_goes_away_has_paid(house):
    """The connection is lost right after the order is given: the order runs on, and its answer is kept."""

    async def lost() -> None:
        waiting = asyncio.ensure_future(house.runner.ask(question("cyd", key="k")))
        await asyncio.sleep(0.01)
        waiting.cancel()
        await asyncio.gather(waiting, return_exceptions=True)

    house.call(lost())
    again, once_more = (house.all(question("cyd", key="k"))[0] for _ in range(2))

    assert isinstance(again, Answered)
    assert again == once_more
    assert house.spends("cyd") == [PRICE]


def test_the_twin_that_refunds_is_caught(tmp_path):
    """A child that calls a failure after the spend a refusal: its outcomes and the ledger disagree."""
    folder = tmp_path / "refunds"
    folder.mkdir()
    file = written(folder)
    twin = House(file, settings(file, children=1))
    try:
        outcomes, spends = twin.all(question("eve after error")), twin.spends("eve after error")
    finally:
        twin.close()

    assert isinstance(outcomes[0], Refused)
    assert unpaid(outcomes, spends) == ["0 outcomes after a read, 1 charges"]
