"""Record and replay of the whole front end, and the library bugs it must see."""

import ast

import pytest

from discreet.attacks.broken import ENUMERATED, SAMPLED
from discreet.errors import DiscreetError
from discreet.ledger import Ledger
from discreet.privacy import ZCDP, ApproxDP, PureDP
from tests.curator.checks.distance import neighbours, planned
from tests.curator.checks.known_bugs import KNOWN, OPENDP, REPRODUCED
from tests.curator.checks.replay import violations
from tests.curator.checks.twins import TWINS
from tests.curator.checks.worlds import World, world
from tests.house.repository import ROOT
from tests.queries.clinic import question
from tests.scale import counts

PAIRS = counts(quick=300, full=10_000)
NESTED = counts(quick=60, full=5_000)


@pytest.fixture(scope="module")
def ledger():
    with Ledger.open(":memory:", testing=True) as found:
        yield found


def test_neighbours_differ_only_in_what_mechanisms_are_fed_and_by_no_more_than_declared(ledger):
    for seed in range(PAIRS):
        case = world(seed)
        case = case if seed % 2 else case.swapped()

        assert violations(case, ledger=ledger) == [], (seed, case.sql)


def nested(seed):
    """A question with joins, sub-queries, unions and quantiles, about a clinic with a patient and without."""
    found = neighbours(seed, heavy=30, rows=[1, 2, 4][seed % 3], groups=[1, 2][seed % 2])
    budget = [PureDP(1), ZCDP("0.05"), ApproxDP(1, "1e-6")][seed % 3]
    tables = [dict(found.whole), dict(found.less)]
    visits = [one.pop("visits") for one in tables]
    return World(question(seed, depth=1 + seed % 3), visits[0], visits[1], {"budget": budget}, tables[0], tables[1])


def refused(case):
    """Whether a question is not asked at all: too wide, or too many groups."""
    try:
        planned(case.sql, {"visits": case.table, **case.beside}, **case.asked)
    except DiscreetError:
        return True
    return False


def test_it_is_so_for_joins_sub_queries_unions_and_quantiles_too(ledger):
    answered = 0
    for seed in range(NESTED):
        case = nested(seed)
        case = case if seed % 2 else case.swapped()
        if refused(case):
            continue
        answered += 1

        assert violations(case, ledger=ledger) == [], (seed, case.sql)
    assert answered >= NESTED * 3 // 5


@pytest.mark.parametrize("twin", TWINS, ids=lambda twin: twin.name)
def test_a_known_library_bug_is_seen(twin, ledger):
    case = twin.world()
    assert violations(case, ledger=ledger) == []  # the honest front end, on the same rows

    with twin.broken() as how:
        found = violations(case, **how) or violations(case.swapped(), **how)

    assert found
    assert ("a run failed" in str(found)) == (twin.name == "a cast error escapes")  # the others answer, and look well


@pytest.mark.parametrize("bug", KNOWN, ids=lambda bug: bug.source)
def test_every_known_bug_has_a_twin_that_is_caught(bug):
    """A broken front end, which the test above must see; or a twin of the test that is named, which holds it."""
    if bug.test is None:
        assert bug.twin in {twin.name for twin in TWINS}
        return
    path, name = bug.test.split("::")
    tree = ast.parse((ROOT / path).read_text())
    made = {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.ClassDef)}

    assert name in made
    assert bug.twin in made | {type(twin).__name__ for twin in (ENUMERATED if "exact" in name else SAMPLED)}


def test_all_reports_that_were_reproduced_are_known():
    """The ten of OpenDP, by their numbers, and no source twice."""
    assert {int(bug.source.partition("#")[2]) for bug in OPENDP} == REPRODUCED
    assert len({bug.source for bug in KNOWN}) == len(KNOWN) >= 23
