"""discreet.structured.medians.sample_and_aggregate: one row changes one result, whatever the statistic does."""

import math
from fractions import Fraction

import numpy as np
import pytest

from discreet.attacks import audit
from discreet.errors import ParameterError, UnsupportedError
from discreet.hazmat.entropy import SeededRandom
from discreet.mechanisms import Laplace
from discreet.privacy.guarantee import PureDP
from discreet.privacy.neighbours import AddRemove, EdgeNeighbours, Replace
from discreet.structured import SampleAndAggregate, SmoothMedian
from tests.scale import counts


def aggregate(epsilon=1, **more):
    return SmoothMedian(**({"epsilon": epsilon, "lower": 0, "upper": 100, "step": 1, "neighbours": Replace} | more))


def wild(part):
    """A statistic without any sensitivity bound: raises, diverges, or answers anything."""
    total = int(part.sum())
    if total % 7 == 0:
        raise ValueError(total)
    return [total, -total, math.nan, math.inf][total % 4]


class Prefix:
    """A source whose words are a fixed sequence: adding a row leaves the blocks of the others alone."""

    secure = False

    def __init__(self, seed):
        self.seed = seed

    def words(self, count):
        return np.random.default_rng(self.seed).integers(0, 2**64, 10_000, dtype=np.uint64)[:count]

    def bits(self, count):
        return 0


@pytest.mark.parametrize("statistic", [np.sum, wild, len, lambda part: 1 / (part.size - 2)])
@pytest.mark.parametrize("seed", range(10))
def test_one_row_added_or_changed_changes_one_result_at_most(statistic, seed):
    whole = SampleAndAggregate(statistic=statistic, blocks=16, aggregate=aggregate())
    rows = np.random.default_rng(seed).integers(0, 1000, 60)
    changed = np.concatenate([rows[:30], [10**6], rows[31:]])
    one = whole.results(rows, rng=Prefix(seed))

    assert np.isfinite(one).all()
    assert (one != whole.results(np.append(rows, 10**6), rng=Prefix(seed))).sum() <= 1
    assert (one != whole.results(changed, rng=Prefix(seed))).sum() <= 1


def test_blocks_by_position_would_change_many():
    """The twin: one row removed moves a row across every boundary."""
    rows = np.random.default_rng(0).integers(0, 1000, 160)
    results = [[part.sum() for part in np.array_split(some, 16)] for some in (rows, rows[1:])]

    assert (np.array(results[0]) != np.array(results[1])).sum() > 8


@pytest.mark.statistical
def test_rows_go_to_every_block_alike():
    whole = SampleAndAggregate(statistic=len, blocks=10, aggregate=aggregate())
    sizes = whole.results(np.zeros(100_000), rng=SeededRandom(1))

    assert sizes.sum() == 100_000
    assert np.abs(sizes - 10_000).max() < 600  # six standard deviations


@pytest.mark.statistical
def test_a_private_answer_about_a_statistic_without_bounds():
    rows = np.random.default_rng(1).normal(0, 1, (40_000, 2)) @ np.array([[1.0, 0.8], [0.0, 0.6]])

    def slope(part):
        return np.polyfit(part[:, 0], part[:, 1], 1)[0]

    fit = SampleAndAggregate(statistic=slope, blocks=200, aggregate=aggregate(lower=-2, upper=2, step=0.001))

    assert abs(fit(rows, rng=SeededRandom(3)) - 0.8) < 0.1


@pytest.mark.statistical
def test_the_audit_stays_below_the_claim():
    whole = SampleAndAggregate(statistic=lambda part: part.max(initial=0), blocks=5, aggregate=aggregate(epsilon=2))
    rows = np.array([0] * 10)
    found = audit(whole, (rows, np.append(rows, 100)), counts(quick=600, full=20_000), rng=SeededRandom(1))

    assert found.epsilon <= 2


def test_failures_count_as_the_public_fallback():
    whole = SampleAndAggregate(statistic=lambda part: 1 / 0, blocks=4, aggregate=aggregate(), fallback=7.0)

    assert whole.results(np.arange(10)).tolist() == [7.0] * 4


def test_a_fallback_written_as_text_counts_too():
    """Any number that is accepted must do when a block fails: an error would tell that one did."""
    whole = SampleAndAggregate(statistic=lambda part: 1 / 0, blocks=4, aggregate=aggregate(), fallback="1/4")

    assert whole.results(np.arange(10)).tolist() == [0.25] * 4


@pytest.mark.parametrize("one", ["x", 0.5, 2**70, None])
def test_a_list_is_refused_since_one_row_would_set_the_type_of_all(one):
    whole = SampleAndAggregate(statistic=np.sum, blocks=4, aggregate=aggregate())

    for rows in ([1] * 20, [1] * 20 + [one]):
        with pytest.raises(ParameterError, match="numpy array"):
            whole.results(rows)


def test_the_price_is_that_of_the_aggregate_under_replace():
    whole = SampleAndAggregate(statistic=len, blocks=4, aggregate=aggregate())
    doubled = SampleAndAggregate(statistic=len, blocks=4, aggregate=aggregate(neighbours=AddRemove))

    assert whole.privacy() == PureDP(1, neighbours=AddRemove)
    assert doubled.privacy() == PureDP(2, neighbours=AddRemove)
    assert doubled.event().epsilon == 2


def test_what_no_theorem_covers_is_refused():
    with pytest.raises(UnsupportedError, match="relation"):
        SampleAndAggregate(statistic=len, blocks=4, aggregate=Laplace(epsilon=1, sensitivity=1))
    with pytest.raises(UnsupportedError, match="rows"):
        SampleAndAggregate(statistic=len, blocks=4, aggregate=aggregate(), neighbours=EdgeNeighbours)


@pytest.mark.parametrize("more", [{"blocks": 0}, {"blocks": 2.0}, {"blocks": True}, {"statistic": 3}, {"aggregate": 3}])
def test_bad_parameters_are_refused(more):
    with pytest.raises(ParameterError):
        SampleAndAggregate(**({"statistic": len, "blocks": 4, "aggregate": aggregate()} | more))


@pytest.mark.parametrize("fallback", [math.nan, math.inf, "1e400", Fraction(10) ** 400, True, None])
def test_a_fallback_must_be_a_number_that_fits_a_float(fallback):
    with pytest.raises(ParameterError):
        SampleAndAggregate(statistic=len, blocks=4, aggregate=aggregate(), fallback=fallback)
