"""discreet.composition.amplification: sampling and shuffling against exact enumeration."""

from __future__ import annotations

import math
from itertools import combinations, product

import mpmath
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binom

from discreet.composition import sampling_rate, shuffled, subsampled
from discreet.errors import ParameterError, UnsupportedError
from discreet.privacy import ZCDP, AddRemove, ApproxDP, Local, NullRow, PureDP, Replace


def test_the_published_numbers_of_sampling():
    """A tenth of a 1-DP mechanism is 0.158565-DP, not 0.1-DP; the notes' fraction is wrong."""
    assert subsampled(PureDP(1), rate="0.1", sampling="poisson").epsilon == pytest.approx(0.158565, abs=5e-7)
    assert float(sampling_rate(PureDP(1), PureDP("0.1"))) == pytest.approx(0.0612070, abs=5e-8)
    assert float(sampling_rate(PureDP(1), PureDP("0.5"))) == pytest.approx(0.377541, abs=5e-7)
    assert sampling_rate(PureDP(1), PureDP(2)) == 1


@given(st.floats(0.01, 5), st.floats(0.01, 0.99))
def test_the_rate_for_a_target_meets_it_from_below(base, share):
    target = PureDP(base * share)
    rate = sampling_rate(PureDP(base), target)

    assert subsampled(PureDP(base), rate=rate, sampling="poisson").epsilon <= float(target.epsilon) * (1 + 1e-13)
    assert subsampled(PureDP(base), rate=rate * (1 + 1e-9) if rate < 0.999 else 1, sampling="poisson").epsilon >= float(
        target.epsilon
    ) * (1 - 1e-12)


@given(st.fractions("1/100", 20, max_denominator=1000), st.fractions("1/1000", "999/1000", max_denominator=1000))
def test_the_rate_never_exceeds_the_theorems_and_is_within_two_last_places_of_it(base, share):
    """In sixty digits, which is far more than the rate has: rounded up by one last place it would be seen."""
    rate = sampling_rate(PureDP(base), PureDP(base * share))
    with mpmath.workdps(60):
        target = mpmath.mpf((base * share).numerator) / (base * share).denominator
        theorem = mpmath.expm1(target) / mpmath.expm1(mpmath.mpf(base.numerator) / base.denominator)
        found = mpmath.mpf(rate.numerator) / rate.denominator

        assert found <= theorem
        assert found * (1 + mpmath.mpf(2) ** -51) > theorem


@pytest.mark.parametrize(
    ("base", "target"), [(NullRow, None), (None, NullRow), (AddRemove, Replace), (Replace, AddRemove), (Local, Local)]
)
def test_a_rate_leads_from_a_relation_to_itself_and_only_where_there_is_a_sample(base, target):
    with pytest.raises(UnsupportedError, match="to the same relation"):
        sampling_rate(PureDP(1, neighbours=base), PureDP("0.5", neighbours=target))
    same = sampling_rate(PureDP(1, neighbours=Replace), PureDP("0.5", neighbours=Replace))

    assert same == sampling_rate(PureDP(1), PureDP("0.5"))


@pytest.mark.parametrize("epsilon", [0.5, 1.0, 2.0])
def test_one_row_of_four_through_randomized_response_attains_the_formula(epsilon):
    """Without replacement, n = 4 and m = 1, all neighbours under Replace, by enumeration."""
    p = 1 / (1 + math.exp(-epsilon))

    def law(rows: tuple[int, ...]) -> float:  # Pr[output 1]
        return sum(p if rows[i] else 1 - p for (i,) in combinations(range(4), 1)) / 4

    worst = max(
        max(abs(math.log(law(x) / law(y))), abs(math.log((1 - law(x)) / (1 - law(y)))))
        for x in product((0, 1), repeat=4)
        for y in product((0, 1), repeat=4)
        if sum(a != b for a, b in zip(x, y, strict=True)) == 1
    )
    claimed = float(subsampled(PureDP(epsilon), rate="1/4", sampling="without replacement").epsilon)

    assert worst == pytest.approx(claimed, rel=1e-12)


def test_the_linear_formula_of_the_notes_is_caught():
    """The broken twin: epsilon' = rate * epsilon."""
    p = 1 / (1 + math.exp(-1))
    worst = math.log((p + 3 * (1 - p)) / (4 * (1 - p)))

    assert worst > 1 / 4


def test_base_and_result_are_in_the_same_relation():
    assert subsampled(PureDP(1), rate="0.1", sampling="poisson").neighbours is AddRemove
    assert subsampled(ApproxDP(1, "1e-5"), rate="0.1", sampling="without replacement").neighbours is Replace
    assert subsampled(ApproxDP(1, "1e-5"), rate="0.1", sampling="poisson").delta == 1e-6
    for base, sampling in (
        (PureDP(1, neighbours=Replace), "poisson"),
        (PureDP(1, neighbours=AddRemove), "without replacement"),
        (PureDP(1, neighbours=NullRow), "poisson"),
    ):
        with pytest.raises(UnsupportedError, match="amplifies guarantees under"):
            subsampled(base, rate="0.1", sampling=sampling)
    with pytest.raises(UnsupportedError, match="PoissonSampledEvent"):
        subsampled(ZCDP(1), rate="0.1", sampling="poisson")


def test_rejects_a_rate_or_a_scheme_it_does_not_know():
    with pytest.raises(ParameterError, match="0 <= rate <= 1"):
        subsampled(PureDP(1), rate=1.5, sampling="poisson")
    with pytest.raises(ParameterError, match="sampling"):
        subsampled(PureDP(1), rate=0.5, sampling="shuffled batches")  # type: ignore[arg-type]


@pytest.mark.parametrize(("users", "epsilon"), [(10_000, 0.214026), (100_000, 0.0725549), (1_000_000, 0.0234968)])
def test_the_published_numbers_of_shuffling(users, epsilon):
    found = shuffled(PureDP(1), users=users, delta=1e-6)

    assert found.epsilon == pytest.approx(epsilon, rel=1e-5)
    assert found.neighbours is Replace


def shuffled_response_delta(local: float, users: int, epsilon: float) -> float:
    """The exact delta of shuffled randomized response: the number of ones is all there is to see.

    The others hold zeros, the worst case for a change from 0 to 1 among those enumerated here.
    """
    q = 1 / (1 + math.exp(local))
    others = [binom.pmf(j, users - 1, q) for j in range(users)]

    def ones(p: float) -> list[float]:
        return [
            (others[j - 1] * p if j > 0 else 0.0) + (others[j] * (1 - p) if j < users else 0.0)
            for j in range(users + 1)
        ]

    zero, one = ones(q), ones(1 - q)
    factor = math.exp(epsilon)
    return max(
        sum(max(0.0, a - factor * b) for a, b in zip(zero, one, strict=True)),
        sum(max(0.0, b - factor * a) for a, b in zip(zero, one, strict=True)),
    )


@pytest.mark.parametrize("users", [1000, 3000])
@pytest.mark.parametrize("local", [0.2, 1.0])
def test_shuffled_randomized_response_is_below_the_formula_and_local_is_not(local, users):
    delta = 1e-4
    claimed = float(shuffled(PureDP(local), users=users, delta=delta).epsilon)

    assert shuffled_response_delta(local, users, claimed) <= delta
    assert shuffled_response_delta(local, users, claimed / 20) > delta  # the oracle can fail


def test_shuffling_is_refused_outside_its_condition():
    with pytest.raises(UnsupportedError, match="only if epsilon"):
        shuffled(PureDP(5), users=10_000, delta=1e-6)
    with pytest.raises(UnsupportedError, match="only if epsilon"):
        shuffled(PureDP("0.1"), users=100, delta=1e-6)
    with pytest.raises(UnsupportedError, match="pure local"):
        shuffled(ApproxDP(1, 1e-6), users=10_000, delta=1e-6)  # type: ignore[arg-type]
    with pytest.raises(UnsupportedError, match="local guarantee"):
        shuffled(PureDP(1, neighbours=AddRemove), users=10_000, delta=1e-6)
    assert shuffled(PureDP(1, neighbours=Local), users=10_000, delta=1e-6).epsilon < 1
    with pytest.raises(ParameterError, match="users >= 1"):
        shuffled(PureDP(1), users=0, delta=1e-6)
