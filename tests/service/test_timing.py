"""The time and the length of a reply say nothing about the rows: a table, and the same with rows that take longer.

In `make test` only what no machine can change is asserted: no reply leaves before its slot is over, where the twin's
do, and lengths are equal.  The areas under curves are measured in `make acceptance`.
"""

from __future__ import annotations

import time
from dataclasses import replace
from itertools import count

import pytest

from benchmarks.service import auc
from discreet.service.running import runner as running
from discreet.service.running.outcome import Answered, Outcome
from discreet.service.wire import BLOCK, answer_bytes
from tests.scale import FULL, counts
from tests.service.children import House, question, settings, written

PAIRS = counts(quick=2, full=2_000)
TWINS = counts(quick=1, full=100)
SLOT, LONG = 0.25, 120.0
SIDES = ("dee", "dee after brief")  # the second reads rows for a twentieth of a second longer
_PRICES = count(1)


@pytest.fixture(scope="module")
def quick_house(tmp_path_factory: pytest.TempPathFactory):
    file = written(tmp_path_factory.mktemp("timing"))
    made = House(file, settings(file, children=2, slot=SLOT, margin=0.05))
    made.all(*(question(name) for name in SIDES))
    yield made
    made.close()


def replies(house: House, pairs: int) -> tuple[dict[str, list[float]], dict[str, list[int]]]:
    """Seconds of each side, in turn, and the lengths of what is sent of its answers."""
    seconds: dict[str, list[float]] = {name: [] for name in SIDES}
    lengths: dict[str, list[int]] = {name: [] for name in SIDES}
    for _ in range(pairs):
        price = f"0.{next(_PRICES):06d}"
        for name in SIDES:
            order = question(name, epsilon=price)
            started = time.monotonic()
            (found,) = house.all(order)
            seconds[name].append(time.monotonic() - started)
            if isinstance(found, Answered):
                lengths[name].append(len(answer_bytes(found.document)))
    return seconds, lengths


def too_soon(seconds: dict[str, list[float]], slot: float) -> list[float]:
    """Replies that left before their slot was over."""
    return [spent for side in seconds.values() for spent in side if spent < slot]


def test_the_time_of_a_reply_does_not_tell_which_rows_were_read(quick_house, record_property):
    seconds, lengths = replies(quick_house, PAIRS)
    area = auc(*seconds.values())
    record_property("AUC", round(area, 4))
    record_property("answered", {name: len(side) for name, side in lengths.items()})

    assert too_soon(seconds, SLOT) == []
    if FULL:
        assert area <= 0.53
        assert area + 1.645 * ((2 * PAIRS + 1) / (12 * PAIRS**2)) ** 0.5 <= 0.55
        assert min(map(len, lengths.values())) >= PAIRS // 2  # else most of it is about withheld answers
        assert set(lengths[SIDES[0]]) == set(lengths[SIDES[1]])


def test_the_twin_that_replies_when_it_is_done_is_caught(quick_house, monkeypatch, record_property):
    """No slot for the reply, and none for the child's store: the side that reads longer is told by its time.

    Its slot is so long that no machine can be too slow to leave it early.
    """

    async def at_once(moment: float) -> None:
        return None

    monkeypatch.setattr(quick_house.runner, "settings", replace(quick_house.settings, slot=LONG))
    monkeypatch.setattr(running, "until", at_once)
    monkeypatch.setattr(running, "message", _without_moment)
    seconds, _ = replies(quick_house, TWINS)
    area = auc(*seconds.values())
    record_property("AUC", round(area, 4))

    assert len(too_soon(seconds, LONG)) == 2 * TWINS
    if FULL:
        assert area > 0.9


def test_what_is_sent_has_the_same_length_whatever_was_read(house):
    """As bytes, in the way the route sends them."""
    found: list[Outcome] = []
    for price in count(1):  # a busy machine may withhold an answer for being late
        found = house.all(*(question(name, epsilon=f"0.{price:03d}") for name in ("una", "una after brief")))
        if all(isinstance(one, Answered) for one in found):
            break
    sent = [answer_bytes(one.document) for one in found if isinstance(one, Answered)]

    assert len(sent) == 2
    assert len({len(body) for body in sent}) == 1
    assert len(sent[0]) % BLOCK == 0


def _without_moment(order, slot):
    """What a child is told where it may store its answer when it likes."""
    wanted = {"kind": order.kind, "principal": order.principal, "body": dict(order.body), "key": order.key}
    return {"order": wanted, "seconds": slot.seconds}
