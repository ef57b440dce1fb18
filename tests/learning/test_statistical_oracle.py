"""discreet.learning.statistical.oracle and statistical_noise: privacy, tolerance, and what is refused."""

import os
import pickle
from itertools import product

import numpy as np
import pyarrow as pa
import pytest
from scipy.stats import binom

from discreet.attacks import audit
from discreet.composition.price import gather
from discreet.data import Boolean, Domain, Identifier, Table
from discreet.data.aggregation import Sealed
from discreet.errors import BudgetExhausted, DomainError, ParameterError, UnsupportedError
from discreet.hazmat.entropy import SeededRandom
from discreet.learning.statistical.noise import StatisticalNoise
from discreet.learning.statistical.oracle import StatisticalQueryOracle
from discreet.learning.statistical.source import AggregateSource, RowSource, engine_sums
from discreet.privacy.guarantee import ZCDP, ApproxDP, GaussianDP, PureDP
from discreet.privacy.neighbours import AddRemove, Replace
from discreet.privacy.number import exact
from discreet.queries.builder import col
from discreet.queries.statistical import RESOLUTION, RowFunction, whole
from discreet.queries.statistical_pieces import EVERY, Affine, Piece, Written
from tests.scale import counts

RUNS = counts(quick=400, full=10_000)
AUDITED = counts(quick=1_500, full=20_000)
BUDGETS = [PureDP(0.5), ZCDP(0.01), ApproxDP(1.0, 1e-6), ApproxDP(1.0, 0)]
COLUMN = RowFunction(lambda rows: rows[:, 0])
MEAN = Piece(factors=(Affine.of({0: 1}),))


def sums(rows, queries):
    data = np.array(rows, dtype=float).reshape(-1, 2)
    return np.array([int(whole(query, data).sum()) for query in queries])


@pytest.mark.parametrize("n", [None, 3])
@pytest.mark.parametrize("m", [1, 2, 5])
def test_the_losses_of_all_answers_add_up_to_epsilon_exactly(n, m):
    """The worst neighbours and queries, by enumeration; the twin for the other relation is caught."""
    noise = StatisticalNoise(queries=m, budget=PureDP(0.5), method="shared", n=n)
    queries = [RowFunction(lambda rows, i=i: rows[:, 0] * (1 if i % 2 else -1)) for i in range(m)]
    queries += [EVERY] if n is None else []
    base = [(1.0, 0.0), (-1.0, 0.0), (1.0, 1.0)]
    others = [base[1:]] if n is None else [[(-1.0, 0.0), *base[1:]], [(0.0, 0.0), *base[1:]]]
    losses = [np.abs(sums(base, queries) - sums(other, queries)).sum() / noise.mechanism.scale for other in others]

    assert max(losses) == exact(0.5)
    twin = StatisticalNoise(queries=m, budget=PureDP(0.5), method="shared", n=3 if n is None else None)
    caught = [
        np.abs(sums(base, queries[:m]) - sums(other, queries[:m])).sum() / twin.mechanism.scale for other in others
    ]
    assert n is None or m == 1 or max(caught) > exact(0.5)  # the noise of AddRemove, sold under Replace


@pytest.mark.parametrize("budget", BUDGETS, ids=repr)
@pytest.mark.parametrize("method", ["shared", "split"])
@pytest.mark.parametrize("n", [None, 1000])
def test_the_answers_together_cost_no_more_than_the_budget(budget, method, n):
    noise = StatisticalNoise(queries=7, budget=budget, method=method, n=n)
    total = noise.mechanism.privacy().repeat(noise.releases)

    assert total <= budget
    assert noise.privacy() == budget.under(AddRemove if n is None else Replace)
    assert noise.releases == (7 if method == "shared" else 1) + (n is None)
    priced = gather([noise.event()]).total()
    within = priced.epsilon if isinstance(budget, PureDP) else priced.rho
    assert isinstance(budget, ApproxDP) or within <= exact(getattr(budget, "epsilon", getattr(budget, "rho", 0)))


@pytest.mark.statistical
@pytest.mark.parametrize(("method", "n"), [("shared", None), ("split", 2)])
def test_an_audit_finds_no_more_than_epsilon_and_finds_the_twin_with_too_little_noise(method, n):
    """Both answers and the number of rows together, on the worst neighbours; the twin has an eighth of the noise."""

    def release(rows, *, rng, epsilon=1.0):
        oracle = StatisticalQueryOracle(rows, queries=2, epsilon=epsilon, method=method, n=n, rng=rng)
        means = oracle.answer([MEAN, MEAN]) * (oracle.size() if n is None else 1)  # sums again, where n is private
        return float(means.sum() + (oracle.size() if n is None else 0))

    other = np.array([[1.0]]) if n is None else np.array([[1.0], [-1.0]])
    inputs = np.array([[1.0], [1.0]]), other
    honest = audit(release, inputs, AUDITED, rng=SeededRandom(21))
    twin = audit(lambda rows, *, rng: release(rows, rng=rng, epsilon=8.0), inputs, AUDITED, rng=SeededRandom(22))

    assert honest.epsilon <= 1
    assert twin.epsilon > 1


def test_a_unit_of_many_rows_has_that_much_more_noise():
    one, many = (
        StatisticalNoise(queries=4, budget=PureDP(1), method="shared", n=None, rows_per_unit=k) for k in (1, 5)
    )

    assert many.mechanism.scale == 5 * one.mechanism.scale
    assert many.tolerance(0.05, n=10**6).population == 2  # rows of a unit are not independent


def log_law(noise, cells, values):
    """The log-density of Laplace noise of this scale around each of some integer vectors, up to a constant."""
    return -np.abs(values[:, None, :] - cells[None, :, :]).sum(axis=2) / float(noise.mechanism.scale)


def block_losses(noise, left, right, *, outputs):
    """ln of the ratio of two mixtures over assignments of rows to blocks."""
    laws = [np.logaddexp.reduce(log_law(noise, cells, outputs), axis=1) - np.log(len(cells)) for cells in (left, right)]
    return np.abs(laws[0] - laws[1]).max()


def scattered(rows, blocks):
    """(sum, count) of every block, for each assignment."""
    found = []
    for chosen in product(range(blocks), repeat=len(rows)):
        parts = [[row for row, j in zip(rows, chosen, strict=True) if j == block] for block in range(blocks)]
        found.append([value for part in parts for value in (sum(part) * RESOLUTION, len(part) * RESOLUTION)])
    return np.array(found)


def test_random_blocks_are_private_when_rows_come_and_go():
    noise = StatisticalNoise(queries=2, budget=PureDP(1), method="split", n=None)
    grid = np.array(list(product([-2, 0, 2, 5], repeat=4))) * RESOLUTION * 3
    loss = block_losses(noise, scattered([1, -1], 2), scattered([1, -1, 1], 2), outputs=grid)

    assert loss <= 1 + 1e-9
    assert loss > 0.8  # and is not far from it


def test_the_twin_with_blocks_by_position_loses_epsilon_in_every_block_when_a_row_goes():
    noise = StatisticalNoise(queries=3, budget=PureDP(1), method="split", n=None)
    whole, gone = (np.array([[1, 1, -1, 1, 1, 1]]), np.array([[-1, 1, 1, 1, 0, 0]]))  # (sum, count) of one-row blocks
    outputs = np.array([[9, 1, -9, 1, 9, 9]])
    shifted = block_losses(noise, whole * RESOLUTION, gone * RESOLUTION, outputs=outputs * RESOLUTION)

    assert shifted == pytest.approx(3)


def test_positional_blocks_change_in_one_place_when_a_row_is_replaced():
    rows = np.arange(20.0).reshape(10, 2) / 20
    other = rows.copy()
    other[4] = 0
    pairs = zip(RowSource(rows).positional(3), RowSource(other).positional(3), strict=True)

    assert sum(not np.array_equal(a.rows, b.rows) for a, b in pairs) == 1
    assert sum(len(block.rows) for block in RowSource(rows).positional(3)) == 10


def test_every_row_is_in_one_random_block():
    rows = np.arange(400.0).reshape(200, 2)
    blocks = RowSource(rows).scattered(4, rng=SeededRandom(3))

    assert sorted(np.concatenate([block.rows for block in blocks])[:, 0]) == sorted(rows[:, 0])
    assert min(len(block.rows) for block in blocks) > 20


@pytest.mark.statistical
@pytest.mark.parametrize("budget", [PureDP(0.2), ZCDP(0.002)], ids=repr)
@pytest.mark.parametrize(("method", "n"), [("shared", 500), ("shared", None), ("split", 500), ("split", None)])
def test_all_answers_are_within_the_tolerance_as_often_as_promised(method, n, budget):
    """Fails with probability 1e-6; for a public n the tolerance is also the least that holds, within a step."""
    rng, beta, m = np.random.default_rng(5), 0.1, 4
    rows = rng.uniform(-1, 1, (500, 1))
    seeded, outside, loose = SeededRandom(11), 0, 0
    for _ in range(RUNS):
        oracle = StatisticalQueryOracle(rows, queries=m, budget=budget, method=method, n=n, rng=seeded)
        answers = oracle.answer([MEAN] * m)
        parts = [rows] * m if method == "shared" else [block.rows for block in oracle._blocks]
        truth = np.array([part.mean() if len(part) else 0.0 for part in parts])
        worst = np.abs(answers - truth).max()
        outside += worst > oracle.tolerance(beta).noise
        loose += worst > 0.8 * oracle.tolerance(beta).noise

    assert outside <= binom.ppf(1 - 1e-6, RUNS, beta)
    if n is not None and method == "shared":
        assert loose > binom.ppf(1e-6, RUNS, beta)  # a tolerance a fifth smaller would be broken


def test_adaptive_queries_overfit_a_shared_sample_and_not_fresh_blocks():
    """Columns chosen by their answers seem to predict random labels: `population` is for queries fixed in advance."""
    rng, n, d = np.random.default_rng(1), 2000, 400
    bits = rng.choice([-1.0, 1.0], (n, d + 1))  # independent of the last column
    asks = [Piece(factors=(Affine.of({i: 1}), Affine.of({d: 1}))) for i in range(d)]
    off = {}
    for method in ("shared", "split"):
        oracle = StatisticalQueryOracle(bits, queries=d + 1, epsilon=10**6, method=method, n=n, rng=SeededRandom(1))
        signs = np.sign(oracle.answer(asks))
        best = RowFunction(lambda rows, signs=signs: np.sign(rows[:, :d] @ signs + 0.5) * rows[:, d])
        off[method] = abs(float(oracle.answer([best])[0])), oracle.tolerance(0.01)

    assert off["shared"][0] > 2 * off["shared"][1].population  # the population mean is 0
    assert off["shared"][0] <= off["shared"][1].adaptive
    assert off["split"][0] <= off["split"][1].population
    assert off["split"][1].adaptive == off["split"][1].population


def test_a_small_epsilon_makes_adaptive_answers_generalise():
    noise = StatisticalNoise(queries=10, budget=PureDP(0.02), method="shared", n=10**6)
    told = noise.tolerance(0.05, n=10**6)

    assert told.noise < told.population < told.adaptive
    assert 2 * np.expm1(0.02) + told.noise < told.adaptive < 2 * np.expm1(0.02) + 3 * told.noise
    gaussian = StatisticalNoise(queries=10, budget=ZCDP(1e-5), method="shared", n=10**6).tolerance(0.05, n=10**6)
    assert gaussian.adaptive < 0.1


def test_one_query_too_many_is_refused_and_nothing_is_read():
    read = []

    class Watched(RowSource):
        __slots__ = ()

        def sums(self, queries):
            read.append(len(queries))
            return super().sums(queries)

    oracle = StatisticalQueryOracle(Watched(np.zeros((9, 1))), queries=3, epsilon=1.0, n=9)
    oracle.answer([MEAN, MEAN])
    with pytest.raises(BudgetExhausted, match="requested 2 queries, remaining 1 queries"):
        oracle.answer([MEAN, MEAN])
    oracle.answer(MEAN)
    with pytest.raises(BudgetExhausted):
        oracle.answer(MEAN)

    assert read == [2, 1]
    assert oracle.remaining == 0


def test_a_query_that_fails_on_the_rows_is_still_paid_for():
    oracle = StatisticalQueryOracle(np.zeros((9, 1)), queries=2, epsilon=1.0, n=9)
    with pytest.raises(UnsupportedError):
        oracle.answer(RowFunction(lambda rows: 1 / 0))

    assert oracle.remaining == 1


def test_a_query_that_public_facts_refuse_is_free():
    _, visits = table()
    on_rows = StatisticalQueryOracle(np.zeros((9, 1)), queries=2, epsilon=1.0, n=9)
    on_table = StatisticalQueryOracle(visits, queries=2, epsilon=1.0)
    with pytest.raises(UnsupportedError, match="asked of a table"):
        on_rows.answer(Written(col("icu"), low=0, high=1))
    with pytest.raises(DomainError, match="closed language"):
        on_table.answer(COLUMN)
    with pytest.raises(DomainError, match="no column 'icy'; did you mean 'icu'"):
        on_table.answer(Written(col("icy"), low=0, high=1))
    with pytest.raises(ParameterError, match="a RowFunction, a Piece or a Written query, got query='function'"):
        on_rows.answer(lambda rows: rows[:, 0])

    assert on_rows.remaining == on_table.remaining == 2
    assert on_table._sizes is None  # not even the number of rows was read


def test_an_oracle_is_neither_copied_nor_carried_into_a_fork(monkeypatch):
    oracle = StatisticalQueryOracle(np.zeros((9, 1)), queries=2, epsilon=1.0, n=9)
    with pytest.raises(UnsupportedError, match="copied"):
        pickle.dumps(oracle)
    monkeypatch.setattr(os, "getpid", lambda: -1)
    with pytest.raises(UnsupportedError, match="forked"):
        oracle.answer(MEAN)


def table(rows=4000, **options):
    bits = np.random.default_rng(2).integers(0, 2, rows).astype(bool)
    source = pa.table({"who": np.arange(rows), "icu": bits})
    return bits, Table(source, domain=Domain({"who": Identifier(), "icu": Boolean()}), unit="who", **options)


def test_an_oracle_on_a_table_says_what_one_on_rows_says():
    bits, visits = table()
    oracle = StatisticalQueryOracle(visits, queries=2, epsilon=5.0, columns=["icu"])
    answer = oracle.answer(Piece(factors=(Affine.of({0: 1}),), low=0, high=1))[0]

    assert abs(answer - bits.mean()) <= oracle.tolerance(1e-6).noise / 2
    assert oracle.privacy() == PureDP(5.0).under(AddRemove)
    assert StatisticalQueryOracle(table(n=4000)[1], queries=2, epsilon=5.0).privacy().neighbours is Replace


def test_a_round_is_one_aggregation_by_whoever_charges_for_it():
    bits, visits = table()
    charged = []

    def aggregate(expressions):
        charged.append(len(expressions))
        return engine_sums(visits, expressions)

    source = AggregateSource(aggregate, visits, ("icu",))
    oracle = StatisticalQueryOracle(source, queries=3, epsilon=5.0)
    share = Piece(factors=(Affine.of({0: 1}),), low=0, high=1)
    answers = oracle.answer([share, share, EVERY])

    assert charged == [1, 3]  # the number of rows, then the round
    assert np.abs(answers[:2] - bits.mean()).max() <= oracle.tolerance(1e-6).noise
    assert isinstance(source.prepare([EVERY])(), Sealed)


@pytest.mark.parametrize(
    "wrong",
    [
        {"epsilon": 0},
        {"epsilon": -1},
        {"epsilon": float("nan")},
        {"epsilon": float("inf")},
        {"epsilon": True},
        {"epsilon": 1, "budget": PureDP(1)},
        {},
        {"budget": ZCDP(0)},
        {"epsilon": 1, "queries": 0},
        {"epsilon": 1, "queries": 2.0},
        {"epsilon": 1, "queries": True},
        {"epsilon": 1, "n": 8},
        {"epsilon": 1, "n": 0},
        {"epsilon": 1, "n": True},
        {"epsilon": 1, "method": "both"},
        {"epsilon": 1, "method": "split", "queries": 10, "n": 9},
        {"epsilon": 1, "columns": ["age"]},
    ],
)
def test_what_is_no_oracle_is_refused(wrong):
    with pytest.raises(ParameterError):
        StatisticalQueryOracle(np.zeros((9, 1)), **{"queries": 2, **wrong})


def test_what_no_theorem_covers_is_refused():
    _, visits = table()
    with pytest.raises(UnsupportedError, match="in memory"):
        StatisticalQueryOracle(visits, queries=2, epsilon=1, method="split")
    with pytest.raises(UnsupportedError, match="PureDP, ApproxDP or ZCDP"):
        StatisticalQueryOracle(np.zeros((9, 1)), queries=2, budget=GaussianDP(1))
    with pytest.raises(UnsupportedError, match="but the budget is under Replace"):
        StatisticalQueryOracle(np.zeros((9, 1)), queries=2, budget=PureDP(1).under(Replace))
    with pytest.raises(UnsupportedError, match="leave n out"):
        StatisticalQueryOracle(table(rows_per_unit=2)[1], queries=2, epsilon=1, n=4000)


def test_a_public_number_of_rows_is_not_used_where_units_have_several():
    """The rows that are kept of all units are fewer, and how many is private: it is released instead."""
    _, visits = table(rows_per_unit=2, n=4000)
    oracle = StatisticalQueryOracle(visits, queries=2, epsilon=5.0)

    assert oracle.privacy() == PureDP(5.0).under(AddRemove)
    assert (oracle.noise.n, oracle.noise.sensitivity, oracle.noise.releases) == (None, 2 * RESOLUTION, 3)
    assert abs(oracle.answer(EVERY)[0] - 1) < 0.01
    assert oracle.size() == pytest.approx(4000, abs=oracle.noise.accuracy(1e-6))


def test_a_wrong_n_is_refused_without_telling_the_right_one():
    with pytest.raises(ParameterError) as caught:
        StatisticalQueryOracle(np.zeros((271, 1)), queries=2, epsilon=1, n=300)

    assert "271" not in str(caught.value)
