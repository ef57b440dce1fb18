"""discreet.structured.marginals.marginal_release and residual_plan: each claim in the module docstrings, in order."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from scipy.stats import chi2

from discreet.composition import best
from discreet.composition.price import price
from discreet.data.columns import Boolean, Categorical, Identifier, Integer
from discreet.data.domain import Domain
from discreet.data.engines.tables_of_counts import TablesOfCounts, covers
from discreet.data.records import Records
from discreet.data.table import Table
from discreet.errors import ParameterError, UnsupportedError
from discreet.hazmat.entropy import SeededRandom
from discreet.privacy.event import GaussianEvent, PureEvent, from_dict
from discreet.privacy.guarantee import ZCDP, ApproxDP, PureDP
from discreet.privacy.neighbours import AddRemove, NullRow, Replace
from discreet.privacy.number import exact
from discreet.queries.marginals import marginals
from discreet.queries.products import parities
from discreet.structured.marginals import residual_plan
from discreet.structured.marginals.marginal_release import MarginalRelease
from discreet.structured.marginals.residual import inverse_norms, residuals_of
from discreet.structured.marginals.residual_plan import plan, replaced
from discreet.structured.marginals.residual_tables import _tasks
from tests.scale import counts
from tests.structured.test_residual import helmert, mixed

CLOSED = [(4, 1, 1.5), (4, 2, 1.569479), (4, 3, 1.338343), (10, 2, 3.04508), (100, 2, 21.3746), (1000, 2, 188.12)]


class NoDraw:
    """A random source that must not be touched."""

    secure = True

    def bits(self, count):
        raise AssertionError("drew bits")

    def words(self, count):
        raise AssertionError("drew words")


def bits(d):
    return Domain({f"b{i}": Boolean() for i in range(d)})


def planned(workload, objective, *, n_public=False):
    residuals = residuals_of(workload)
    weights = np.array([float(w) ** 2 for w in workload.weights])
    return residuals, plan(residuals, weights, objective=objective, n_public=n_public)


def moves(release, rows, *, without=()):
    """m_c h_c(row) for every row and coordinate, as Python integers, from the definition."""
    sizes = [declared.size for declared in release.workload.domain.values()]
    out = [[] for _ in rows]
    for block in release.residuals.blocks:
        for i, columns in enumerate(block.columns.tolist()):
            number = block.first + i
            if release.plan.noise[number] == 0 or number in without:
                continue
            m = release.multipliers(np.array([number]), block.shape)[0].tolist()
            places = itertools.product(*(range(1, k) for k in block.shape))
            for multiplier, c in zip(m, places, strict=True):
                for made, row in zip(out, rows, strict=True):
                    entries = (int(helmert(sizes[col])[j, row[col]]) for col, j in zip(columns, c, strict=True))
                    made.append(multiplier * math.prod(entries))
    return np.array(out, dtype=object)


def every_row(domain):
    return list(itertools.product(*(range(declared.size) for declared in domain.values())))


WORKLOADS = [
    marginals(mixed(2, 3, 4), 2),
    marginals(mixed(3, 2, 2, 3), [("c0", "c1", "c2"), ("c3",)], weights=[1, 3]),
    marginals(bits(4), 2),
]


@pytest.mark.parametrize("objective", ["total", "max"])
@pytest.mark.parametrize("workload", WORKLOADS, ids=range(3))
def test_an_added_row_moves_the_integers_by_at_most_the_sensitivity(workload, objective):
    """The price itself, in integers, for every row; and it is used up but for rounding."""
    release = MarginalRelease(workload, budget=ZCDP(0.5), objective=objective)
    scale, mechanism = release._unit
    moved = (moves(release, every_row(workload.domain)) ** 2).sum(axis=1)

    assert max(moved) <= scale**2 <= mechanism.square
    assert min(moved) > scale**2 * (1 - 1e-9)
    assert exact(mechanism.privacy().rho) <= Fraction(1, 2)
    assert exact(mechanism.privacy().rho) > Fraction(1, 2) * (1 - Fraction(1, 10**9))


@pytest.mark.parametrize("workload", WORKLOADS, ids=range(3))
def test_a_replaced_row_moves_the_integers_by_at_most_the_sensitivity(workload):
    release = MarginalRelease(workload, budget=ZCDP(0.5), n=100)
    scale, mechanism = release._unit
    made = moves(release, every_row(workload.domain))
    worst = max(int(((a - b) ** 2).sum()) for a, b in itertools.combinations(made, 2))

    assert worst <= mechanism.square
    assert worst > mechanism.square * (1 - 1e-8)
    assert worst > scale**2  # the noise for added rows, sold for replaced ones, would be caught


def test_a_residual_measured_twice_but_charged_once_is_caught():
    release = MarginalRelease(WORKLOADS[0], budget=ZCDP(0.5))
    _, mechanism = release._unit
    rows = every_row(release.workload.domain)
    once = (moves(release, rows) ** 2).sum(axis=1)
    last = once - (moves(release, rows, without={len(release.residuals) - 1}) ** 2).sum(axis=1)

    assert max(once + last) > mechanism.square


def test_the_sensitivity_of_one_table_for_many_is_caught():
    """Each table released alone uses up the sensitivity: together they exceed it."""
    domain, budget = WORKLOADS[0].domain, ZCDP(0.5)
    alone = [MarginalRelease(marginals(domain, [names]), budget=budget) for names in WORKLOADS[0].sets]
    moved = sum((moves(release, every_row(domain)) ** 2).sum(axis=1) for release in alone)
    _, mechanism = alone[0]._unit

    assert max(moved) > 2.9 * mechanism.square
    assert mechanism.square == MarginalRelease(WORKLOADS[0], budget=budget)._unit[1].square


def test_null_rows_cost_what_added_rows_do():
    here = MarginalRelease(WORKLOADS[0], budget=ZCDP(0.5, neighbours=NullRow))
    there = MarginalRelease(WORKLOADS[0], budget=ZCDP(0.5))

    assert here.variances().tolist() == there.variances().tolist()
    assert here.privacy().neighbours is NullRow
    assert there.privacy() == ZCDP(0.5, neighbours=AddRemove)


@pytest.mark.parametrize("n", [None, 1000])
@pytest.mark.parametrize("budget", [ZCDP(0.1), ApproxDP(1.0, 1e-9), ApproxDP(0.1, 1e-6), ApproxDP(8, 1e-5)], ids=repr)
def test_the_event_is_accounted_at_the_budget(budget, n):
    release = MarginalRelease(WORKLOADS[0], budget=budget, n=n)
    event = release.event()

    assert isinstance(event, GaussianEvent)
    assert from_dict(event.to_dict()) == event
    assert release.privacy().neighbours is (AddRemove if n is None else Replace)
    if isinstance(budget, ZCDP):
        assert price(event).rho <= exact(budget.rho)
    else:
        assert best([event], budget.delta).epsilon <= budget.epsilon * (1 + 1e-5)


def test_discrete_noise_on_a_fine_lattice_costs_what_continuous_noise_does():
    scale, mechanism = MarginalRelease(WORKLOADS[0], budget=ApproxDP(1.0, 1e-9))._unit

    assert float(mechanism.sigma) / scale == pytest.approx(5.495266157238, rel=1e-9)


@pytest.mark.parametrize(("d", "t", "gamma2"), CLOSED)
def test_the_least_largest_variance_of_bits_is_the_closed_form(d, t, gamma2):
    _, found = planned(marginals(bits(d), t), "max")
    formula = sum(math.sqrt(math.comb(t, j) * math.comb(d, j)) for j in range(t + 1)) / 2**t

    assert math.sqrt(found.upper) == pytest.approx(formula, rel=1e-12)
    assert math.sqrt(found.lower) == pytest.approx(formula, rel=1e-12)
    assert formula == pytest.approx(gamma2, abs=6e-6 if gamma2 < 10 else 6e-3)


@pytest.mark.parametrize(("t", "factor"), [(2, 1.4176), (3, 1.7589)])
def test_replacing_a_row_of_a_hundred_bits_costs_the_stated_factor(t, factor):
    residuals, found = planned(marginals(bits(counts(quick=100 if t == 2 else 40, full=100)), t), "max")
    d = sum(1 for b in residuals.blocks for _ in b.columns if len(b.shape) == 1)
    found.noise[0] = 0.0  # n is public
    moved = []
    for a in range(d + 1):
        odd = [sum(math.comb(a, u) * math.comb(d - a, j - u) for u in range(1, j + 1, 2)) for j in range(t + 1)]
        spread = [float(found.noise[b.first]) * 2**j for b, j in zip(residuals.blocks, range(t + 1), strict=True)]
        moved.append(sum(4 * odd[j] / spread[j] for j in range(1, t + 1)))

    assert replaced(residuals, found) == pytest.approx(max(moved), rel=1e-8)
    if d == 100:
        assert math.sqrt(max(moved)) == pytest.approx(factor, abs=6e-5)


def _all_pairs(residuals, precision, sizes):
    """The largest over agreeing sets, term by term."""
    found = []
    for agree in itertools.product([0, 1], repeat=len(sizes)):
        total = 0.0
        for block in residuals.blocks:
            for i, columns in enumerate(block.columns.tolist()):
                product = math.prod(agree[c] - 1 / sizes[c] for c in columns)
                total += precision[block.first + i] * (residuals.shares[block.first + i] - product)
        found.append(2 * total)
    return max(found)


@pytest.mark.parametrize("few", [True, False])
def test_the_largest_move_is_found_by_each_way_or_bounded(few, monkeypatch):
    sizes = (2, 3, 2, 4, 3)
    residuals, found = planned(marginals(mixed(*sizes), 3), "total", n_public=True)
    precision = np.where(found.noise > 0, 1 / np.maximum(found.noise, 1e-300), 0)
    truth = _all_pairs(residuals, precision, sizes)
    if not few:
        monkeypatch.setattr(residual_plan, "ENUMERATED", 0)

    assert replaced(residuals, found) == pytest.approx(truth, rel=1e-7)


def test_the_bounds_for_many_unlike_columns_are_bounds(monkeypatch):
    sizes = (2, 3, 2, 4, 3)
    workload = marginals(mixed(*sizes), [("c0", "c1"), ("c2", "c3", "c4"), ("c1", "c3")], weights=[1, 5, 2])
    residuals, found = planned(workload, "total", n_public=True)
    truth = replaced(residuals, found)
    monkeypatch.setattr(residual_plan, "ENUMERATED", 0)
    by_kind = replaced(residuals, found)
    monkeypatch.setattr(residual_plan, "PATTERNS", 0)
    alone = replaced(residuals, found)

    assert truth <= by_kind
    assert truth <= alone <= 4.1


@pytest.mark.parametrize("workload", WORKLOADS, ids=range(3))
def test_no_other_noise_has_a_smaller_sum_of_variances(workload):
    residuals, found = planned(workload, "total")
    weights = np.array([float(w) ** 2 for w in workload.weights]) * residuals.table_cells
    rng = np.random.default_rng(7)

    assert found.upper == pytest.approx((weights * residuals.variances(found.noise)).sum())
    assert (residuals.shares / found.noise).sum() == pytest.approx(1)
    for _ in range(50):
        other = found.noise * np.exp(rng.normal(0, 0.1, len(residuals)))
        other *= (residuals.shares / other).sum()
        assert (weights * residuals.variances(other)).sum() > found.upper * (1 + 1e-6)


def test_the_least_largest_variance_is_that_of_a_convex_solver():
    import cvxpy as cp

    workload = marginals(mixed(2, 5, 3, 9), 2, weights=[1, 1, 2, 1, 1, 1])
    residuals, found = planned(workload, "max")
    weights = np.array([float(w) ** 2 for w in workload.weights])
    reach = np.array([weights * residuals.variances(unit) for unit in np.eye(len(residuals))]).T
    noise = cp.Variable(len(residuals), pos=True)
    problem = cp.Problem(
        cp.Minimize(cp.max(reach @ noise)), [cp.sum(cp.multiply(residuals.shares, cp.inv_pos(noise))) <= 1]
    )
    problem.solve(solver=cp.CLARABEL)

    assert found.upper == pytest.approx(problem.value, rel=1e-5)
    assert found.lower <= found.upper <= found.lower * (1 + 1e-9)
    assert (weights * residuals.variances(found.noise)).max() == pytest.approx(found.upper)


def test_each_objective_is_best_at_its_own_aim():
    workload = marginals(mixed(2, 12, 3, 7), 2)
    total = MarginalRelease(workload, budget=ZCDP(0.1)).variances()
    largest = MarginalRelease(workload, budget=ZCDP(0.1), objective="max").variances()

    assert total.sum() < largest.sum()
    assert total.max() > largest.max()


def test_predicted_variances_are_the_closed_form():
    """All 2-way tables of d columns of k values at zCDP rho: F^2 / (2 rho), to 1e-9."""
    d, k, rho = 12, 10, 0.3
    release = MarginalRelease(marginals(mixed(*[k] * d), 2), budget=ZCDP(rho))
    tables = math.comb(d, 2)
    shares = [(1 - 1 / k) ** j for j in range(3)]
    demand = [shares[j] * math.comb(d - j, 2 - j) * k**2 * k ** (2 * j - 4) for j in range(3)]
    f = sum(math.comb(d, j) * math.sqrt(shares[j] * demand[j]) for j in range(3))

    assert release.variances().sum() == pytest.approx(f**2 / (2 * rho), rel=1e-9)
    assert len(release.variances()) == tables * k**2


@pytest.mark.statistical
@pytest.mark.parametrize("factor", [1.0, 0.9])
def test_the_noise_has_the_predicted_variance(factor):
    """The chi-squared statistic of all coordinates, failing with probability 1e-6; noise times 0.9 is caught."""
    shape = (12, 10, counts(quick=15, full=150))
    workload = marginals(mixed(*shape), 3)
    release = MarginalRelease(workload, budget=ZCDP(0.01))
    rows = Records.random(workload.domain, 3000, seed=8)
    errors = release(rows, rng=SeededRandom(1)).unbiased - workload.answer(rows)
    statistic = 0.0
    from discreet.structured.marginals.residual_kernels import analyse

    errors = errors.reshape(1, -1) * factor
    analyse(errors, np.array(shape))
    scale, mechanism = release._unit
    for pattern, (number,) in enumerate(release.residuals.tables[0].parts):
        where = tuple(slice(1, None) if pattern >> i & 1 else slice(0, 1) for i in range(3))
        part = errors.reshape(shape)[where].ravel()
        norms = inverse_norms(tuple(k for i, k in enumerate(shape) if pattern >> i & 1)).ravel()
        variance = release.plan.noise[number] * (float(mechanism.sigma) / scale) ** 2
        statistic += ((part * norms) ** 2).sum() / variance
    tail = chi2(math.prod(shape))
    held = tail.ppf(5e-7) < statistic < tail.isf(5e-7)

    assert held if factor == 1.0 else not held


def test_unbiased_answers_are_within_the_accuracy_and_agree():
    workload = marginals(mixed(4, 3, 5, 2), 2)
    release = MarginalRelease(workload, budget=ApproxDP(1.0, 1e-6))
    rows = Records.random(workload.domain, 2000, seed=9)
    truth = workload.answer(rows)
    worst = [np.abs(release(rows, rng=SeededRandom(seed)).unbiased - truth).max() for seed in range(40)]
    tables = workload.tables(release(rows, rng=SeededRandom(1)).unbiased)

    assert sum(w > release.accuracy(0.05) for w in worst) <= 9  # more than 9 of 40 has probability 2e-5 at 0.05
    assert max(worst) > release.accuracy(0.05) / 3  # and it is not loose
    assert tables["c0", "c1"].sum(axis=1) == pytest.approx(tables["c0", "c2"].sum(axis=1))
    assert tables["c0", "c1"].sum() == pytest.approx(tables["c2", "c3"].sum())


def test_what_is_published_is_a_function_of_the_noisy_integer():
    """Data a with noise Z + m and data a + 1 with noise Z are the same noisy integer, and the same float."""
    workload = marginals(mixed(3), [("c0",)])
    release = MarginalRelease(workload, budget=ZCDP(0.5))
    m = int(release.multipliers(np.array([1]), (3,))[0, 1])
    for noise in (-5 * m - 3, -1, 0, 7, 2 * m + 11):
        floats = []
        for a, z in ((10**6, noise + m), (10**6 + 1, noise)):
            quotient, remainder = np.divmod(np.array([z]), m)
            floats.append(float(((a + quotient) + remainder / m)[0]))
        assert floats[0] == floats[1]


def test_frames_rows_and_histograms_give_the_same_release():
    domain = Domain({"ward": Categorical(["a", "b", "c"]), "age": Integer(0, 4), "icu": Boolean()})
    rng = np.random.default_rng(10)
    frame = pd.DataFrame(
        {"ward": rng.choice(list("abc"), 200), "age": rng.integers(0, 5, 200), "icu": rng.random(200) < 0.3}
    )
    release = MarginalRelease(marginals(domain, 2), budget=ZCDP(0.1))
    rows = Records.from_frame(frame, domain)
    made = [release(data, rng=SeededRandom(3)) for data in (frame, rows, rows.histogram())]

    assert made[0].unbiased.tolist() == made[1].unbiased.tolist() == made[2].unbiased.tolist()
    assert made[0].answers.tolist() == made[2].answers.tolist()


def test_the_universe_is_never_listed():
    domain = mixed(*[10] * 100)
    names = list(domain)
    workload = marginals(domain, [names[i : i + 3] for i in range(0, 99, 3)])
    release = MarginalRelease(workload, budget=ApproxDP(1.0, 1e-9))
    made = release(Records.random(domain, 500, seed=11), rng=SeededRandom(4))

    assert domain.size == 10**100
    assert made.answers.shape == (33 * 1000,)


def test_a_public_number_of_rows_is_neither_measured_nor_read():
    workload = marginals(mixed(3, 4), 1)
    release = MarginalRelease(workload, budget=ZCDP(0.1), n=777)
    made = release(Records.random(workload.domain, 500, seed=12), rng=SeededRandom(5))

    assert made.unbiased[:3].sum() == pytest.approx(777)
    assert made.answers[3:].sum() == pytest.approx(777)
    assert release.plan.noise[0] == 0


def test_a_table_without_columns_costs_nothing_where_n_is_public():
    workload = marginals(mixed(3, 4), 0)
    known, counted = MarginalRelease(workload, budget=ZCDP(0.1), n=50), MarginalRelease(workload, budget=ZCDP(0.1))
    rows = Records.random(workload.domain, 50, seed=13)

    assert known(rows, rng=NoDraw()).answers.tolist() == [50]
    assert known.event() == PureEvent(epsilon=0)
    assert known.variances().tolist() == [0]
    assert counted.variances() == pytest.approx([5])


def test_columns_of_one_value_change_nothing():
    plain, padded = marginals(mixed(3, 4), 2), marginals(mixed(3, 1, 4), [("c0", "c1", "c2")])
    here, there = (MarginalRelease(w, budget=ZCDP(0.1)) for w in (plain, padded))

    assert here.variances().tolist() == there.variances().tolist()


def test_heavier_tables_get_less_noise():
    domain = mixed(4, 4)
    release = MarginalRelease(marginals(domain, 1, weights=[3, 1]), budget=ZCDP(0.1))
    heavy, light = release.table_variances()

    assert heavy < light
    assert release.variances()[[0, 4]] == pytest.approx([9 * heavy, light])


@pytest.mark.parametrize(
    ("budget", "options", "error", "message"),
    [
        (PureDP(1.0), {}, UnsupportedError, "ApproxDP or ZCDP, got PureDP; IndependentNoise and Factorization"),
        (ApproxDP(1.0, 0), {}, ParameterError, "delta > 0"),
        (ZCDP(0), {}, ParameterError, "rho > 0"),
        (ZCDP(1, neighbours=Replace), {}, UnsupportedError, "pass n="),
        (ZCDP(1), {"n": True}, ParameterError, "an integer n >= 1"),
        (ZCDP(1), {"n": 0}, ParameterError, "an integer n >= 1"),
        (ZCDP(1), {"objective": "least"}, ParameterError, "objective 'total' or 'max'"),
    ],
)
def test_bad_parameters_are_refused_before_anything_is_drawn(budget, options, error, message):
    with pytest.raises(error, match=message):
        MarginalRelease(WORKLOADS[0], budget=budget, **options)


@pytest.mark.parametrize("objective", ["total", "max"])
@pytest.mark.parametrize("n", [None, 300])
@pytest.mark.parametrize("weights", [[1, Fraction(1, 10**20)], [1, Fraction(1, 10**170)], [Fraction(1, 10**170)] * 2])
def test_weights_that_would_leave_a_table_without_noise_are_refused_before_data_is_read(weights, n, objective):
    """The squares of the small ones underflow: the table would be measured with no noise, and published as it is."""
    workload = marginals(mixed(2, 4), 1, weights=weights)

    with pytest.raises(UnsupportedError, match=r"within a factor of 2\^64"):
        MarginalRelease(workload, budget=ZCDP(0.5), n=n, objective=objective)


@pytest.mark.parametrize("objective", ["total", "max"])
@pytest.mark.parametrize("n", [None, 300])
def test_every_residual_has_noise_and_they_cost_what_is_paid(objective, n):
    """Random workloads with very unlike weights: no multiplier is outside the lattice, and none of the sums above 1."""
    rng = np.random.default_rng(21)
    refused = 0
    for _ in range(40):
        domain = mixed(*(int(k) for k in rng.choice([2, 2, 3, 10, 100], rng.integers(2, 5))))
        every = [sets for width in range(1, len(domain) + 1) for sets in itertools.combinations(domain, width)]
        sets = [every[i] for i in rng.choice(len(every), rng.integers(2, min(8, len(every)) + 1), replace=False)]
        weights = [Fraction(10) ** int(e) for e in rng.integers(-9, 10, len(sets))]
        release = MarginalRelease(marginals(domain, sets, weights=weights), budget=ZCDP(10), n=n, objective=objective)
        first = 1 if n else 0
        noise = release.plan.noise[first:]
        assert np.isfinite(noise).all()
        assert (noise > 0).all()
        assert (release.residuals.shares[first:] / noise).sum() <= 1 + 1e-12
        try:
            scale, _ = release._unit
        except UnsupportedError:  # the lattice is too coarse, which public facts decide
            refused += 1
            continue
        for block in release.residuals.blocks[first:]:
            m = release.multipliers(np.arange(block.first, block.first + block.count), block.shape)
            assert m.min() >= 1
            assert m.max() <= scale

    assert refused < 40


@pytest.mark.parametrize("broken", [0.0, np.inf, np.nan, -1.0, 1e-3])
@pytest.mark.parametrize("n", [None, 300])
def test_a_plan_without_noise_is_refused_whatever_made_it(broken, n, monkeypatch):
    def without(residuals, weights, **options):
        found = plan(residuals, weights, **options)
        found.noise[-1] = broken
        return found

    monkeypatch.setattr("discreet.structured.marginals.marginal_release.plan", without)
    release = MarginalRelease(WORKLOADS[0], budget=ZCDP(0.5), n=n)

    with pytest.raises(UnsupportedError, match="no noise was found"):
        release(Records.random(WORKLOADS[0].domain, 10, seed=1), rng=NoDraw())


@pytest.mark.parametrize("noise", [0.0, 1e300])
def test_a_multiplier_outside_the_lattice_is_refused(noise):
    release = MarginalRelease(WORKLOADS[0], budget=ZCDP(0.5))
    assert release._unit[1] is not None
    release.plan.noise[1] = noise  # after it was checked

    with np.errstate(divide="ignore"), pytest.raises(UnsupportedError, match="lattice of integers"):
        release.multipliers(np.array([1]), (2,))


def test_a_common_factor_of_the_weights_changes_no_noise():
    tables = [("c0", "c1"), ("c2",)]
    plain = MarginalRelease(marginals(mixed(2, 3, 4), tables, weights=[1, 3]), budget=ZCDP(0.5))
    tiny = MarginalRelease(
        marginals(mixed(2, 3, 4), tables, weights=[Fraction(1, 10**70), Fraction(3, 10**70)]), budget=ZCDP(0.5)
    )

    assert tiny.table_variances() == pytest.approx(plain.table_variances(), rel=1e-9)
    assert tiny.variances() == pytest.approx(plain.variances() * 1e-140, rel=1e-9, abs=0)


def test_other_workloads_are_refused():
    with pytest.raises(ParameterError, match="a workload of marginals, got workload='Products'"):
        MarginalRelease(parities(3, 2), budget=ZCDP(1))


def test_a_budget_too_small_for_the_lattice_is_refused_before_anything_is_drawn():
    release = MarginalRelease(WORKLOADS[0], budget=ZCDP(Fraction(1, 10**40)))

    with pytest.raises(UnsupportedError, match="too small to measure"):
        release(Records.random(WORKLOADS[0].domain, 10, seed=1), rng=NoDraw())


class NoRows:
    """An engine that is not DuckDB, and from which nothing may be read."""

    def ready(self, table, aggregation):
        raise AssertionError("looked")

    def run(self, table, aggregation):
        raise AssertionError("read")


def _passes(release):
    """The largest square of a move where every pass shows a row of its own: the worst set E of each, added up."""
    domain, residuals = release.workload.domain, release.residuals
    joined = covers([frozenset(names) for names in release.workload.sets], domain)
    sizes, names = [declared.size for declared in domain.values()], list(domain)
    columns = [residual for block in residuals.blocks for residual in block.columns.tolist()]
    counted = [[] for _ in joined]  # which residuals each pass counts
    for group, rows, tasks in _tasks(residuals):
        for pattern, here in tasks:
            for row in rows[here]:
                table = {names[c] for c in group.columns[row]}
                counted[next(i for i, one in enumerate(joined) if one >= table)].append(int(group.parts[pattern][row]))

    def square(numbers, agree):
        products = [math.prod(agree[c] - 1 / sizes[c] for c in columns[number]) for number in numbers]
        return sum(
            2 * (residuals.shares[a] - p) / release.plan.noise[a] for a, p in zip(numbers, products, strict=True) if a
        )

    every = list(itertools.product([0, 1], repeat=len(sizes)))
    return len(joined), sum(max(square(numbers, agree) for agree in every) for numbers in counted)


def test_several_passes_over_bounded_units_are_refused_where_a_unit_is_replaced():
    """Each pass keeps another row of the unit; the sensitivity of one pair of rows would be too small."""
    columns = {"x": Integer(0, (1 << 19) - 1), "a": Boolean(), "b": Boolean(), "c": Boolean()}
    workload = marginals(Domain(columns), [("x", "a", "b"), ("x", "b", "c"), ("x", "a", "c")])
    table = Table("visits", domain=Domain({"p": Identifier(), **columns}), unit="p", engine=NoRows())
    rows = Table("visits", domain=Domain(columns), unit=None, engine=NoRows())
    swapped = MarginalRelease(workload, budget=ZCDP(0.1), n=1000)
    passes, reached = _passes(swapped)

    assert passes == 3
    assert reached > 1.29 * replaced(swapped.residuals, swapped.plan)  # rho, and what was paid for it
    with pytest.raises(UnsupportedError, match="3 passes of the engine may keep as many; leave out n="):
        swapped(table, rng=NoDraw())
    with pytest.raises(UnsupportedError, match="must count one row of it"):
        swapped(TablesOfCounts(table, workload.sets, domain=workload.domain), rng=NoDraw())
    for release, data in (
        (MarginalRelease(workload, budget=ZCDP(0.1)), table),  # units are added or removed
        (swapped, rows),  # no unit is bounded
        (MarginalRelease(marginals(workload.domain, [("x",), ("a",)]), budget=ZCDP(0.1), n=9), table),  # one pass
    ):
        with pytest.raises(AssertionError, match="read"):
            release(data)


def test_a_frame_of_patients_is_released():
    rng = np.random.default_rng(0)
    domain = Domain({"age": Integer(0, 119), "ward": Categorical(list("abcd")), "icu": Boolean()})
    frame = pd.DataFrame(
        {"age": rng.integers(0, 120, 5000), "ward": rng.choice(list("abcd"), 5000), "icu": rng.random(5000) < 0.1}
    )
    release = MarginalRelease(marginals(domain, 2), budget=ApproxDP(1.0, 1e-9))(frame)
    truth = marginals(domain, 2).answer(Records.from_frame(frame, domain))

    assert release.answers.shape == (120 * 4 + 120 * 2 + 8,)
    assert np.abs(release.answers - truth).max() <= release.accuracy(1e-6)


def test_the_accuracy_of_tables_is_that_of_their_cells():
    from discreet.release.factorization_errors import NormalSums

    release = MarginalRelease(marginals(mixed(4, 3, 6), 2), budget=ZCDP(0.1), objective="max")
    errors = release.errors()
    spread = np.repeat(errors.sd, errors.runs)
    cells = NormalSums(spread, sigma=errors.sigma, draws=errors.draws)

    assert errors.accuracy(0.01) == pytest.approx(cells.accuracy(0.01), rel=1e-9)
    assert errors.each(0.01).tolist() == cells.each(0.01).tolist()
    assert spread == pytest.approx(np.sqrt(release.variances()), rel=1e-8)


def test_the_noise_does_not_depend_on_the_data():
    """With the same noise, neighbours' unbiased answers differ by the cells of the row, in every table at once."""
    workload = marginals(mixed(4, 3, 2), 2)
    rows = Records.random(workload.domain, 300, seed=14)
    columns = [rows.column(name) for name in workload.domain]
    one = Records(workload.domain, [np.array([2]), np.array([1]), np.array([0])])
    more = Records(workload.domain, [np.append(c, o) for c, o in zip(columns, (2, 1, 0), strict=True)])
    release = MarginalRelease(workload, budget=ZCDP(0.2))
    here, there = (release(data, rng=SeededRandom(6)).unbiased for data in (rows, more))

    assert there - here == pytest.approx(workload.answer(one), abs=1e-9)


def test_hundreds_of_tables_have_the_closed_form_and_its_error():
    """All 3-way tables of d columns of 10 values: the predicted variance to 1e-9, and the errors of some tables."""
    d, k = counts(quick=14, full=60), 10
    workload = marginals(mixed(*[k] * d), 3)
    release = MarginalRelease(workload, budget=ApproxDP(1.0, 1e-9))
    shares = [(1 - 1 / k) ** j for j in range(4)]
    demand = [shares[j] * math.comb(d - j, 3 - j) * k ** (2 * j - 3) for j in range(4)]
    f = sum(math.comb(d, j) * math.sqrt(shares[j] * demand[j]) for j in range(4))
    rows = Records.random(workload.domain, 20_000, seed=15)
    made = release(rows, rng=SeededRandom(7))
    some = range(0, len(workload.sets), len(workload.sets) // 40)
    errors = np.array(
        [made.unbiased[i * k**3 : (i + 1) * k**3] - rows.marginal(workload.sets[i]).ravel() for i in some]
    )
    spread = math.sqrt(release.table_variances()[0])

    assert release.table_variances().sum() * k**3 == pytest.approx((f * 5.495266157238) ** 2, rel=1e-9)
    assert np.sqrt((errors**2).mean()) == pytest.approx(spread, rel=0.05)
    assert np.abs(errors).max() < release.accuracy(1e-6)
