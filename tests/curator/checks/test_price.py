"""The price before a run is the price charged, on a table, on its neighbour and on nothing at all."""

import random
from fractions import Fraction

import numpy as np
import pytest

from discreet.composition.price import price
from discreet.curator import Curator
from discreet.data import Table
from discreet.data.aggregation import Sealed, SealedGroups, dtype
from discreet.errors import DiscreetError
from discreet.hazmat.entropy import SeededRandom
from discreet.ledger import Ledger
from discreet.ledger.amount import settled
from discreet.privacy import ZCDP, ApproxDP, PureDP
from discreet.privacy.number import exact
from tests.curator.checks.distance import neighbours, planned
from tests.curator.checks.replay import CAP
from tests.curator.checks.test_distance import PRIVATE
from tests.curator.checks.worlds import DOMAIN, question
from tests.queries import clinic
from tests.scale import counts

PLANS = counts(quick=200, full=10_000)
NESTED = counts(quick=80, full=10_000)
BUDGETS = [PureDP(1), PureDP("0.001"), ApproxDP(1, "1e-6"), ApproxDP("1e-6", "1e-9"), ZCDP("0.05"), ZCDP("1e-9")]


SLACK = 1 + Fraction(1, 2**39)  # of the Gaussian's own reading of square roots


class Filled:
    """An engine that answers the same number everywhere: what one world or the other might hold."""

    def __init__(self, number):
        self.number = number

    def ready(self, table, aggregation):
        """Whatever is asked."""

    def check(self):
        """Nothing."""

    def run(self, table, aggregation):
        if aggregation.texts:
            groups = [(*("x" * i for _ in aggregation.texts), 0) for i in range(self.number % 7)]
            return SealedGroups(groups, np.full((len(groups), len(aggregation.measures)), self.number, dtype=object))
        return Sealed(np.full((aggregation.cells, len(aggregation.measures)), self.number, dtype=dtype(aggregation)))


def charged(ledger, number, sql, budget, tables=None):
    """What the ledger took, and what explain said."""
    table = Table("nowhere.parquet", domain=DOMAIN, unit="patient", rows_per_unit=4, groups_per_unit=2)
    tables = tables or {"visits": table}
    curator = Curator(tables, budget=CAP, ledger=ledger, engine=Filled(number), rng=SeededRandom(1))
    said = curator.explain(sql, budget=budget).plan
    return said, curator.ask(sql, budget=budget, fresh=True).receipt.price


def test_dry_price_is_the_price_charged_whatever_the_data():
    draw = random.Random(12)
    with Ledger.open(":memory:", testing=True) as ledger:
        for _ in range(PLANS):
            sql, budget = question(draw), draw.choice(BUDGETS)
            said, first = charged(ledger, 0, sql, budget)
            _, second = charged(ledger, 10**9, sql, budget)

            assert settled(said.price) == first == second, sql
            assert first.rho > 0
            assert first.rho <= price(budget).rho or isinstance(budget, ApproxDP)


def test_it_is_so_for_joins_sub_queries_unions_and_quantiles_too():
    """Priced on a clinic with a patient and on the same without: from public facts alone."""
    found, answered = neighbours(1, heavy=5, rows=3, groups=2), 0
    with Ledger.open(":memory:", testing=True) as ledger:
        for seed in range(NESTED):
            sql, budget = clinic.question(seed, depth=1 + seed % 3), BUDGETS[seed % len(BUDGETS)]
            try:
                planned(sql, found.whole, budget=budget)
            except DiscreetError:  # too wide, or too many groups
                continue
            answered += 1
            said, first = charged(ledger, 0, sql, budget, found.whole)
            again, second = charged(ledger, 10**6, sql, budget, found.less)

            assert settled(said.price) == settled(again.price) == first == second, sql
            assert price(said.event).rho <= first.rho * SLACK, sql  # what is drawn costs no more than what is charged
            assert [one.mechanism for one in said.releases] == [one.mechanism for one in again.releases]
    assert answered >= NESTED * 3 // 5


@pytest.mark.parametrize("sql", PRIVATE.values(), ids=PRIVATE)
def test_private_keys_cost_their_delta_whether_or_not_a_group_is_found(sql):
    found, budget = neighbours(1, heavy=5, rows=3, groups=2), ApproxDP("0.7", "1e-7")
    with Ledger.open(":memory:", testing=True) as ledger:
        prices = [
            charged(ledger, number, sql, budget, tables)
            for number, tables in ((0, found.whole), (6, found.less), (5, found.whole))
        ]

        assert len({price for _, price in prices}) == 1
        assert prices[0][1].delta == exact("1e-7")
        assert prices[0][1].epsilon == exact("0.7")
        assert price(prices[0][0].event) == prices[0][0].price  # selection and noise, all of it


def test_no_release_is_free():
    """Each column that touches private rows is paid for: the twin releases it for nothing."""
    draw = random.Random(13)
    for _ in range(PLANS):
        said = _plan(question(draw), draw.choice(BUDGETS))

        assert all(price(release.mechanism.event()).rho > 0 for release in said.releases)
        assert sum(release.share for release in said.releases) == 1


def _plan(sql, budget):
    from discreet.curator.plan import plan
    from discreet.queries.sql import parse

    table = Table("nowhere.parquet", domain=DOMAIN, unit="patient", rows_per_unit=4, groups_per_unit=2)
    return plan(parse(sql, {"visits": table}), table, budget=budget)


def test_a_price_that_follows_the_data_is_seen():
    """The twin charges by the number of rows it found."""
    with Ledger.open(":memory:", testing=True) as ledger:
        sql = "SELECT COUNT(*) FROM visits"
        first, second = (charged(ledger, number, sql, PureDP(1 + number))[1] for number in (0, 1))

        assert first != second
