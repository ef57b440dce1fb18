"""Record and replay of the whole front end, and the library bugs it must see."""

import pytest

from discreet.ledger import Ledger
from tests.curator.checks.replay import violations
from tests.curator.checks.twins import TWINS
from tests.curator.checks.worlds import world
from tests.scale import counts

PAIRS = counts(quick=300, full=10_000)


@pytest.fixture(scope="module")
def ledger():
    with Ledger.open(":memory:", testing=True) as found:
        yield found


def test_neighbours_differ_only_in_what_mechanisms_are_fed_and_by_no_more_than_declared(ledger):
    for seed in range(PAIRS):
        case = world(seed)
        case = case if seed % 2 else case.swapped()

        assert violations(case, ledger=ledger) == [], (seed, case.sql)


@pytest.mark.parametrize("twin", TWINS, ids=lambda twin: twin.name)
def test_a_known_library_bug_is_seen(twin, ledger):
    case = twin.world()
    assert violations(case, ledger=ledger) == []  # the honest front end, on the same rows

    with twin.broken() as how:
        found = violations(case, **how) or violations(case.swapped(), **how)

    assert found
    assert ("a run failed" in str(found)) == (twin.name == "a cast error escapes")  # the others answer, and look well


def test_there_are_more_twins_than_known_bugs():
    assert len({twin.name for twin in TWINS}) >= 23
