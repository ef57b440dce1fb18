"""discreet.bounds.best: every bound that applies, below every mechanism that is planned, and named."""

import itertools
import json
import math

import numpy as np
import pytest

from discreet.bounds import best, lower_bounds, packing_search
from discreet.bounds.packing_search import greedy_packings
from discreet.data import Boolean, Domain, Integer
from discreet.errors import ParameterError, UnsupportedError
from discreet.mechanisms.gaussian_sigma import analytic_sigma
from discreet.privacy.guarantee import ZCDP, ApproxDP, GaussianDP, PureDP, RenyiDP
from discreet.privacy.neighbours import AddRemove, NullRow, Replace
from discreet.queries import Dense, kron, marginals, monotone_disjunctions, parities, ranges, thresholds
from discreet.release import IndependentNoise, gamma2, gamma2_lower
from tests.scale import counts

BITS = Domain({f"b{i}": Boolean() for i in range(10)})
BUDGETS = [PureDP(1.0), ApproxDP(1.0, 1e-6), ZCDP(0.1), GaussianDP(0.5)]


def test_everything_that_must_be_importable_is():
    from discreet.bounds import (
        best,
        capacity,
        discrepancy,
        fingerprinting,
        gamma2,
        interval_table,
        marginals_table,
        packing,
        samples,
    )

    names = [best, capacity, discrepancy, fingerprinting, gamma2, interval_table, marginals_table, packing, samples]
    assert all(callable(name) for name in names)


@pytest.mark.parametrize("budget", BUDGETS[:3], ids=repr)
@pytest.mark.parametrize("relation", [AddRemove, Replace])
def test_no_bound_exceeds_what_noise_on_each_answer_reaches(budget, relation):
    """Its largest error at beta and its standard deviation, under the same promise."""
    for workload in (thresholds(16), marginals(BITS, 1), marginals(BITS, 2)):
        made = IndependentNoise(workload, budget=budget.under(relation), n=None if relation is AddRemove else 5000)
        largest, spread = made.accuracy(0.05), math.sqrt(made.variances().max())
        found = lower_bounds(workload, n=5000, guarantee=budget, neighbours=relation)

        assert {"packing"} <= {bound.name for bound in found}
        for bound in found:
            if not bound.gaussian:  # which binds Gaussian noise only, and this may be Laplace
                assert bound.value <= (largest if "probability" in bound.what else spread)


def test_the_bounds_are_within_small_factors_of_the_best_noise():
    """One-way marginals under zCDP: Gaussian noise is within three of two bounds, so those times three are refuted."""
    made = IndependentNoise(marginals(BITS, 1), budget=ZCDP(0.01, neighbours=AddRemove))
    found = {
        bound.name: bound.value
        for bound in lower_bounds(marginals(BITS, 1), n=5000, guarantee=ZCDP(0.01), neighbours=AddRemove)
    }

    assert 3 * found["gamma_2"] > math.sqrt(made.variances().max())
    assert 6 * found["packing"] > made.accuracy(0.05)


def test_the_best_is_the_largest_that_binds_everybody():
    for budget in BUDGETS:
        found = lower_bounds(marginals(BITS, 1), n=5000, guarantee=budget)
        everybody = [bound for bound in found if bound.every]

        assert best(marginals(BITS, 1), n=5000, guarantee=budget) == found[0]
        assert found[0].value == max(bound.value for bound in everybody)
        assert {bound.every for bound in found[len(everybody) :]} <= {False}
        assert all(bound.witness and bound.reference and bound.value > 0 for bound in found)


def test_which_bound_is_the_best_depends_on_the_promise():
    """Many one-way marginals: packing, and fingerprints where delta caps the packing."""
    wide = marginals(Domain({f"b{i}": Boolean() for i in range(2000)}), 1)

    assert best(wide, n=10**5, guarantee=PureDP(1.0)).name == "packing"
    assert best(wide, n=10**5, guarantee=ApproxDP(1.0, "1e-6")).name == "fingerprints"
    assert best(wide, n=10**5, guarantee=ZCDP(0.01)).name == "packing"
    assert best(thresholds(64), n=10**5, guarantee=ApproxDP(0.1, 1e-9)).name in ("packing", "discrepancy")


def test_what_binds_gaussian_noise_alone_is_listed_last_and_never_the_best():
    """Laplace noise on 8 thresholds at epsilon 8 has a standard deviation of 0.42: below gamma_2 sigma1 = 0.986."""
    budget = ApproxDP(8, 1e-6)
    found = lower_bounds(thresholds(8), n=1000, guarantee=budget, neighbours=AddRemove)

    assert [bound.name for bound in found] == ["factorization"]
    assert found[0].gaussian
    assert found[0].who == "continuous Gaussian noise on every factorization"
    assert found[0].to_dict()["gaussian"] is True
    with pytest.raises(UnsupportedError, match="no lower bound"):
        best(thresholds(8), n=1000, guarantee=budget, neighbours=AddRemove)
    assert lower_bounds(thresholds(64), n=10**5, guarantee=ApproxDP(1, 1e-6))[-1].gaussian


def test_continuous_gaussian_noise_has_at_least_what_its_bound_says():
    """One query: the least sigma itself, from below; the sigma of a delta that is a little more is less."""
    for epsilon, delta in itertools.product((0.1, 1, 5), (1e-9, 1e-5, 0.01)):
        bound = lower_bounds(thresholds(1), n=9, guarantee=ApproxDP(epsilon, delta), neighbours=AddRemove)[-1]
        sigma = analytic_sigma(epsilon=epsilon, delta=delta, sensitivity=1)

        assert bound.gaussian
        assert 0.9999 * sigma < bound.value < sigma


SMALL = Domain({"a": Integer(0, 2)})
FIXED = Domain({"c": Integer(3, 3)})
DEGENERATE = {
    "one cell": thresholds(1),
    "one cell, ranges": ranges(1),
    "one value": marginals(FIXED, 1),
    "no column": marginals(BITS, 0),
    "zeros": Dense(np.zeros((2, 3), dtype=int), SMALL),
    "zeros of floats": Dense(np.zeros((2, 3)), SMALL),
    "no bit": monotone_disjunctions(3, 0),
    "constant": thresholds(6)[5],
    "all ones": Dense(np.ones((2, 3), dtype=int), SMALL),
    "tiny": Dense(np.array([[1e-300, 0.0, 0.0]]), SMALL),
    "product of zeros": kron(Dense(np.zeros((1, 1), dtype=int), FIXED), thresholds(2)),
    "plain": thresholds(8),
}
KINDS, SIZES = counts(quick=2, full=3), counts(quick=1, full=2)
EXTREME = [
    PureDP(0), PureDP("1e-30"), PureDP(2000), PureDP("1e400"), ApproxDP(0, 0), ApproxDP(0, 1e-6), ApproxDP(1, "1e-400"),
    ApproxDP(1, 0.999), ApproxDP("1e400", 1e-6), ZCDP(0), ZCDP("1e-30"), ZCDP(400), ZCDP("1e400"), GaussianDP(0),
    GaussianDP(30), GaussianDP("1e200"),
]  # fmt: skip


@pytest.mark.parametrize("name", DEGENERATE)
def test_every_workload_and_every_budget_has_an_answer(name):
    """A tuple, with nothing in it but finite numbers above 0; a warning would be an error here."""
    for budget, relation, n in itertools.product(EXTREME, (Replace, AddRemove, NullRow)[:KINDS], (10**12, 1)[:SIZES]):
        found = lower_bounds(DEGENERATE[name], n=n, guarantee=budget, neighbours=relation)

        assert isinstance(found, tuple)
        assert all(0 < bound.value < math.inf for bound in found)


def test_a_budget_of_nothing_is_bounded_by_what_it_implies():
    """Who tells nothing at all errs by half of all rows; under (0, delta) rows in 1 / delta may be told."""
    for budget in (PureDP(0), ZCDP(0), GaussianDP(0), ApproxDP(0, 0)):
        assert best(thresholds(8), n=1000, guarantee=budget).value == 500
    assert best(thresholds(8), n=10**9, guarantee=ApproxDP(0, "1e-3")).value == pytest.approx(500 * 0.943, rel=0.02)


def test_a_relation_that_contradicts_the_guarantee_is_refused():
    with pytest.raises(ParameterError, match="the relation of the guarantee"):
        best(thresholds(8), n=100, guarantee=PureDP(1, neighbours=AddRemove), neighbours=Replace)
    named = best(thresholds(8), n=100, guarantee=PureDP(1, neighbours=AddRemove))

    assert named == best(thresholds(8), n=100, guarantee=PureDP(1), neighbours=AddRemove)
    assert named == best(thresholds(8), n=100, guarantee=PureDP(1, neighbours=AddRemove), neighbours=AddRemove)


def test_queries_that_no_neighbour_moves_are_factored_without_noise():
    found = gamma2(thresholds(6)[5], neighbours=Replace)

    assert (found.value, found.lower_bound) == (0.0, 0.0)
    assert np.abs(found.left).max() == 0
    assert gamma2_lower(thresholds(6)[5], neighbours=Replace) == 0
    assert gamma2_lower(thresholds(6)[5]) == pytest.approx(1, rel=1e-3)


def test_one_query_of_a_product_that_is_too_large_to_write_has_an_upper_bound_only():
    """Its row is itself: a sensitivity asked of it must not ask again, and is no lower bound."""
    one = kron(Dense(np.array([[1, 0], [0, 1000]]), Domain({"z": Boolean()})), thresholds((1 << 22) + 1))[0]

    assert not one.exact
    assert one.squared(AddRemove) >= 1
    assert one.absolute(Replace) >= 2
    with pytest.raises(UnsupportedError, match="no lower bound is known"):
        gamma2_lower(one)


def test_a_matrix_that_is_too_large_to_search_is_not_read(monkeypatch):
    """2,000 x 400 normal entries took 28 seconds to be read as fractions, and were then put aside."""
    monkeypatch.setattr(packing_search, "colourable", None)  # calling it would be an error
    large = np.random.default_rng(0).normal(size=(2000, 400))
    workload = Dense(large, Domain({"a": Integer(0, 399)}))

    assert greedy_packings(large, neighbours=AddRemove) == greedy_packings(workload, neighbours=AddRemove) == []
    assert lower_bounds(workload, n=1000, guarantee=ApproxDP(0.1, 1e-6)) == ()


def test_a_bound_reads_as_a_sentence_and_as_json():
    found = best(thresholds(1024), n=10**5, guarantee=PureDP(0.1))

    assert str(found).startswith("every mechanism: largest error, with probability above 0.05, at least 49 (packing:")
    assert json.loads(json.dumps(found.to_dict()))["value"] == found.value == 49


def test_where_nothing_is_known_nothing_is_claimed():
    with pytest.raises(UnsupportedError, match="no lower bound"):
        best(parities(40, 2), n=1, guarantee=ApproxDP(50, 0))
    with pytest.raises(UnsupportedError, match="bounds are known for"):
        best(thresholds(8), n=10, guarantee=RenyiDP(2, 1))


def test_bad_questions_are_refused():
    for bad in ({"n": 0}, {"n": True}, {"beta": 0}, {"beta": math.nan}, {"guarantee": 1.0}, {"workload": [[1]]}):
        question = {"workload": thresholds(8), "n": 10, "guarantee": PureDP(1)} | bad
        with pytest.raises(ParameterError):
            best(question.pop("workload"), **question)
