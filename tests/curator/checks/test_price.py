"""The price before a run is the price charged, on a table, on its neighbour and on nothing at all."""

import random

import numpy as np

from discreet.composition.price import price
from discreet.curator import Curator
from discreet.data import Table
from discreet.data.aggregation import Sealed, dtype
from discreet.hazmat.entropy import SeededRandom
from discreet.ledger import Ledger
from discreet.ledger.amount import settled
from discreet.privacy import ZCDP, ApproxDP, PureDP
from tests.curator.checks.replay import CAP
from tests.curator.checks.worlds import DOMAIN, question
from tests.scale import counts

PLANS = counts(quick=200, full=10_000)
BUDGETS = [PureDP(1), PureDP("0.001"), ApproxDP(1, "1e-6"), ApproxDP("1e-6", "1e-9"), ZCDP("0.05"), ZCDP("1e-9")]


class Filled:
    """An engine that answers the same number everywhere: what one world or the other might hold."""

    def __init__(self, number):
        self.number = number

    def ready(self, table, aggregation):
        """Whatever is asked."""

    def check(self):
        """Nothing."""

    def run(self, table, aggregation):
        return Sealed(np.full((aggregation.cells, len(aggregation.measures)), self.number, dtype=dtype(aggregation)))


def charged(ledger, number, sql, budget):
    """What the ledger took, and what explain said."""
    table = Table("nowhere.parquet", domain=DOMAIN, unit="patient", rows_per_unit=4, groups_per_unit=2)
    curator = Curator({"visits": table}, budget=CAP, ledger=ledger, engine=Filled(number), rng=SeededRandom(1))
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
