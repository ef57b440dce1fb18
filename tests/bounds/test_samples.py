"""discreet.bounds.samples and sample_formulas: the numbers of the notes, and that the bounds hold."""

import csv
import io
import math
from fractions import Fraction
from itertools import combinations, pairwise, product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog
from scipy.special import expit
from scipy.stats import binom

from discreet.bounds import sample_formulas as formulas
from discreet.bounds.communication import list_length
from discreet.bounds.sample_formulas import FiniteClass, Packing, Question
from discreet.bounds.samples import PROBLEMS, samples
from discreet.errors import ParameterError, UnsupportedError
from tests.scale import counts

RUNS = counts(quick=2000, full=20_000)
errors = st.floats(0.01, 0.4)
betas = st.floats(0.001, 0.3)
epsilons = st.floats(0.05, 5)


def test_the_numbers_of_the_notes():
    thresholds = samples("thresholds", d=10, alpha=0.1, beta=0.05, epsilon=1.0)

    assert thresholds["private, realizable"].n == 850
    assert thresholds["private, agnostic"].n == 5957
    assert thresholds["private, lower bound, the notes"].n == math.ceil((math.log(1023) + math.log(0.45)) / 0.8)
    assert samples("parities", d=20, alpha=0.1, beta=0.05, epsilon=1.0)["parity learner, one block"].n == 365
    assert samples("statistical", m=100, tau=0.1, beta=0.05, epsilon=1.0)["local"].n == 776770


@pytest.mark.parametrize(("error", "epsilon"), [(1e-6, 1e-6), (1e-6, 1.0), (0.3, 1e-6), (0.1, 1.0), (0.999, 30.0)])
def test_small_errors_lose_no_digits(error, epsilon):
    """cosh t - alpha sinh t less 1, in rationals: the difference of floats said half as many rows at alpha = 1e-8."""
    t = min(Fraction(epsilon) / 2, Fraction(math.atanh(error)))
    terms = [t**power / math.factorial(power) for power in range(1, 160)]
    lost = Fraction(error) * sum(terms[::2]) - sum(terms[1::2])  # alpha sinh t - (cosh t - 1)
    rate = float(sum(lost**power / power for power in range(1, 8))) if lost < 1e-3 else -math.log(1 - float(lost))
    found = formulas.moments_agnostic(3.0, Question(error, 0.05, epsilon, 0.0))

    assert found == pytest.approx(math.ceil((3.0 - math.log(0.05)) / rate), rel=1e-9, abs=1)


def test_what_is_said_to_be_enough_is_never_cut_off():
    """At 2^60 rows it was, and said to be enough."""
    table = samples("statistical", m=100, tau=1e-6, epsilon=1e-6, beta=1e-30)
    row = table["local, factorization"]

    assert row.n > 1 << 90
    assert table["local"].n / 10 < row.n < 10 * table["local"].n


@given(st.floats(2, 60), errors, betas, epsilons)
def test_the_moments_never_ask_for_more_than_the_notes(log, error, beta, epsilon):
    q = Question(error, beta, epsilon, 0.0)

    assert formulas.moments_realizable(log, q) <= formulas.generic_realizable(log, q)
    assert formulas.moments_agnostic(log, q) <= formulas.generic_agnostic(log, q)
    assert formulas.consistent(log, q) <= formulas.moments_realizable(log, q)
    assert formulas.empirical(log, q) <= formulas.moments_agnostic(log, q)


@given(st.floats(2, 60), errors, betas)
def test_privacy_is_free_from_twice_alpha_on(log, error, beta):
    enough = Question(error, beta, 2 * math.atanh(error), 0.0)
    less = Question(error, beta, math.atanh(error), 0.0)

    assert abs(formulas.moments_agnostic(log, enough) - formulas.empirical(log, enough)) <= 1
    assert formulas.moments_agnostic(log, less) > formulas.empirical(log, less)


def chosen_wrongly(n, alpha, rate, *, signed):
    """Pr[the worse of two hypotheses is chosen], exactly: weights e^(-rate mistakes), one row makes +-1 or 0 or 1."""
    k = np.arange(n + 1)
    masses = binom.pmf(k, n, (1 + alpha) / 2 if signed else alpha)
    behind = 2 * k - n if signed else k
    return float((masses * expit(-rate * behind)).sum())


@pytest.mark.parametrize("signed", [False, True])
@pytest.mark.parametrize("alpha", [0.05, 0.2])
@pytest.mark.parametrize("epsilon", [0.1, 1.0, 4.0])
def test_the_moment_bounds_hold_for_two_hypotheses_at_every_n_and_the_twin_with_epsilon_for_its_half_does_not(
    signed, alpha, epsilon
):
    def bound(n, rate):
        if not signed:
            return (1 - alpha * (1 - math.exp(-rate))) ** n
        t = min(rate, math.atanh(alpha))
        return (math.cosh(t) - alpha * math.sinh(t)) ** n

    wrong = {n: chosen_wrongly(n, alpha, epsilon / 2, signed=signed) for n in (1, 2, 5, 20, 100, 500, 2000)}

    assert all(found <= bound(n, epsilon / 2) * (1 + 1e-9) for n, found in wrong.items())
    if epsilon / 2 < 0.8 * math.atanh(alpha) or not signed:
        assert any(found > bound(n, epsilon) for n, found in wrong.items())


@pytest.mark.statistical
@pytest.mark.parametrize("noisy", [0.0, 0.2])
def test_the_exponential_mechanism_succeeds_at_the_sizes_by_moments(noisy):
    """Thresholds on 64 points; fails with probability 1e-6."""
    d, alpha, beta, epsilon = 6, 0.1, 0.05, 1.0
    name = "private, agnostic, by moments" if noisy else "private, realizable, by moments"
    n = samples("thresholds", d=d, alpha=alpha, beta=beta, epsilon=epsilon)[name].n
    rng, points = np.random.default_rng(4), 2**d
    target = 20
    x = rng.integers(0, points, (RUNS, n))
    y = (x >= target) ^ (rng.random((RUNS, n)) < noisy)
    ones, zeros = (np.stack([np.bincount(row, minlength=points) for row in np.where(part, x, points)])[:, :points]
                   for part in (y, ~y))  # fmt: skip
    missed = np.concatenate([np.zeros((RUNS, 1)), ones.cumsum(axis=1)], axis=1)  # labels 1 below the threshold
    false = np.concatenate([zeros[:, ::-1].cumsum(axis=1)[:, ::-1], np.zeros((RUNS, 1))], axis=1)
    scores = -epsilon / 2 * (missed + false) + rng.gumbel(size=missed.shape)
    excess = np.abs(scores.argmax(axis=1) - target) / points * (1 - 2 * noisy)

    assert (excess > alpha).sum() <= binom.ppf(1 - 1e-6, RUNS, beta)


@settings(max_examples=25)
@given(st.integers(1, 40), errors, betas, epsilons)
def test_no_lower_bound_is_above_what_is_enough(d, error, beta, epsilon):
    for problem in ("thresholds", "intervals", "parities", "conjunctions"):
        table = samples(problem, d=d, alpha=min(error, 0.24), beta=beta, epsilon=epsilon)
        enough = min(
            row.n for row in table if row.side == "enough" and row.kind == "proven" and "private, r" in row.name
        )
        needed = [row.n for row in table if row.side == "needed" and row.kind == "proven"]

        assert max(needed) <= max(enough, table["private, realizable, by moments"].n)


@settings(max_examples=50)
@given(st.integers(4, 200), st.floats(0.01, 0.24), st.floats(0.001, 0.2), epsilons)
def test_the_packing_is_never_below_that_of_the_notes(d, alpha, beta, epsilon):
    q = Question(alpha, beta, epsilon, 0.0)

    assert formulas.packing_rows(FiniteClass.named("thresholds", d), q) >= formulas.notes_packing(d, q)


@pytest.mark.parametrize(("n", "rate", "beta"), [(1, 0.3, 0.1), (7, 0.2, 0.25), (12, 0.6, 0.01), (5, 0.5, 0.5)])
def test_the_upper_moment_is_the_least_over_all_ways_to_fail(n, rate, beta):
    """A linear program over the probability of success given K."""
    epsilon, k = 0.7, np.arange(n + 1)
    masses = binom.pmf(k, n, rate)
    worst = linprog(masses * np.exp(-epsilon * k), A_ub=[-masses], b_ub=[-(1 - beta)], bounds=[(0, 1)] * (n + 1))

    assert math.exp(formulas.upper_moment(n, rate, Question(0.1, beta, epsilon, 0.0))) == pytest.approx(
        worst.fun, rel=1e-6
    )


@pytest.mark.parametrize("epsilon", [0.5, 2.0])
@pytest.mark.parametrize(("n", "alpha"), [(1, 0.25), (2, 0.2), (2, 0.4)])
def test_no_private_learner_at_all_beats_the_packing(n, alpha, epsilon):
    """The best epsilon-DP learner of thresholds on 4 points, by linear programming over all mechanisms."""
    rows = [(x, y) for x in range(4) for y in (0, 1)]
    datasets = list(product(rows, repeat=n))
    place = {data: i for i, data in enumerate(datasets)}
    targets, outputs = (1, 2, 3), 5
    size = len(datasets) * outputs + 1  # the probabilities, and the largest failure
    above, equal = [], []
    for data, i in place.items():
        sums = np.zeros(size)
        sums[i * outputs : (i + 1) * outputs] = 1
        equal.append(sums)
        for spot, row in product(range(n), rows):
            j = place[(*data[:spot], row, *data[spot + 1 :])]
            for h in range(outputs) if i != j else ():
                line = np.zeros(size)
                line[i * outputs + h], line[j * outputs + h] = 1, -math.exp(epsilon)
                above.append(line)
    limits = [0.0] * len(above)
    for theta in targets:
        law = {(theta - 1, 0): alpha, (theta, 1): alpha}
        law[(3, 1)] = law.get((3, 1), 0) + 1 - 2 * alpha
        line = np.zeros(size)
        line[-1] = -1
        for data, i in place.items():
            line[i * outputs + theta] -= math.prod(law.get(row, 0.0) for row in data)
        above.append(line)  # 1 - success <= failure
        limits.append(-1.0)
    cost = np.zeros(size)
    cost[-1] = 1
    best = linprog(
        cost, A_ub=np.array(above), b_ub=limits, A_eq=np.array(equal), b_eq=np.ones(len(equal)), bounds=(0, 1)
    )
    failure = float(best.fun)
    question = Question(alpha, failure, epsilon, 0.0)

    assert best.success
    assert math.log(2) + formulas.upper_moment(n, 2 * alpha, question) <= math.log(failure) + 1e-6
    twin = Question(alpha, failure, 0.01, 0.0)  # as if epsilon were much less: it would forbid the best learner
    assert math.log(2) + formulas.upper_moment(n, 2 * alpha, twin) > math.log(failure) or epsilon < 1


@pytest.mark.parametrize(("problem", "most"), [("thresholds", 0.5), ("intervals", 1 / 3), ("parities", 0.25)])
def test_a_packing_whose_masses_do_not_fit_says_nothing(problem, most):
    names = [
        {row.name for row in samples(problem, d=12, alpha=alpha, beta=0.05, epsilon=0.1)}
        for alpha in (0.99 * most, 1.01 * most)
    ]

    assert "private, lower bound" in names[0]
    assert "private, lower bound" not in names[1]


def test_codes_of_many_patterns_pack_a_shattered_set():
    packing = FiniteClass.named("conjunctions", 40).packing

    assert isinstance(packing, Packing)
    assert packing.log_count > 0
    assert FiniteClass.named("conjunctions", 1).packing is None
    table = samples("conjunctions", d=200, alpha=0.01, beta=0.05, epsilon=0.1)
    assert table["private, lower bound"].n > 100


@pytest.mark.parametrize("m", [1, 7, 100])
@pytest.mark.parametrize("epsilon", [0.1, 1.0])
def test_the_sizes_for_statistical_queries_are_the_least_that_their_formulas_allow(m, epsilon):
    tau, beta = 0.1, 0.05
    table = samples("statistical", m=m, tau=tau, beta=beta, epsilon=epsilon, delta=1e-6)

    def shared(n):
        return 2 * m / (epsilon * n) * math.log(2 * m / beta) + math.sqrt(2 * math.log(4 * m / beta) / n)

    n = table["central, shared sample"].n
    assert shared(n) <= tau < shared(n - 1)
    block = table["central, split sample"].n // m
    assert math.exp(-tau * epsilon * block / 4) <= beta / (2 * m) * (1 + 1e-9)
    assert 2 * math.exp(-block * tau**2 / 8) <= beta / (2 * m) * (1 + 1e-9)
    groups = [table["local"].n // m + (j < table["local"].n % m) for j in range(m)]
    fails = [2 * math.exp(-users * (math.tanh(epsilon / 2) * tau) ** 2 / 2) for users in groups]
    assert 1 - math.prod(1 - p for p in fails) <= beta
    assert table["central, shared sample, Gaussian"].n <= 2 * n


@pytest.mark.parametrize("d", [1, 20, 300])
def test_the_amplified_parity_learner_fails_at_most_beta(d):
    q = Question(0.1, 0.05, 1.0, 0.0)
    times, total = formulas.parity_amplified(d, q)
    failure = math.exp(d * math.log(2) - total / times * 0.1 * math.tanh(0.5))

    assert 2.0**-times + (1 - 2.0**-times) * failure <= 0.05 * (1 + 1e-9)


@pytest.mark.parametrize("size", [1, 2, 3, 4, 100])
def test_two_concepts_that_may_be_complements_need_no_row(size):
    """{c, 1 - c} is told by one row, a single concept by none; of three, two agree somewhere and differ elsewhere."""
    needed = [row.name for row in samples("finite", size=size, alpha=0.1, epsilon=1.0) if row.side == "needed"]

    assert needed == (["not private, lower bound"] if size >= 3 else [])


@pytest.mark.parametrize("size", [3, 4])
def test_of_three_concepts_two_agree_on_a_point_and_differ_on_another(size):
    for concepts in combinations(product((0, 1), repeat=3), size):
        agree = [[a == b for a, b in zip(*pair, strict=True)] for pair in combinations(concepts, 2)]

        assert any(any(same) and not all(same) for same in agree)


def test_a_lower_bound_that_is_a_whole_number_is_not_rounded_beyond_it():
    """(1 - alpha)^n / 2 <= beta with equality at n = 2, 3, ...: that many rows are enough for the argument."""
    for n in range(1, 30):
        for alpha in (0.5, 0.75, 0.9):
            assert formulas.two_concepts(Question(alpha, (1 - alpha) ** n / 2, 1.0, 0.0)) <= n


def test_a_model_keeps_its_rows_and_what_is_not_private():
    given = {"m": 10, "tau": 0.1, "epsilon": 1.0}
    every, central, local = (
        [row.name for row in samples("statistical", model=model, **given)] for model in (None, "central", "local")
    )

    assert set(every) == set(central) | set(local)
    assert set(central) & set(local) == {"not private"}
    assert set(local) == {"not private", "local", "local, Laplace, the notes", "local, Laplace", "local, factorization"}
    assert {row.model for row in samples("parities", d=9, alpha=0.1, epsilon=1.0, model="local")} == {"any", "local"}
    conjunctions = samples("conjunctions", d=9, alpha=0.1, epsilon=1.0, model="local")
    assert conjunctions["statistical queries, local"].model == "local"
    assert conjunctions.curves()
    with pytest.raises(UnsupportedError, match="thresholds in the local model"):
        samples("thresholds", d=9, alpha=0.1, epsilon=1.0, model="local")


def test_local_laplace_has_the_number_of_the_notes_and_a_logarithm_for_small_beta():
    """4 (8 / epsilon^2 + 1) / tau^2 at beta = 1/4; by Chernoff beta enters by its logarithm."""
    notes = samples("statistical", m=1, tau=0.1, beta=0.25, epsilon=1.0)

    assert notes["local, Laplace, the notes"].n == 3600
    rare = samples("statistical", m=1, tau=0.1, beta=1e-9, epsilon=1.0)
    assert rare["local, Laplace"].n < 1e-5 * rare["local, Laplace, the notes"].n
    for epsilon in (0.5, 1.0, 4.0):  # one bit has 1 / tanh^2(epsilon / 2) where this has 8 / epsilon^2 + 1
        table = samples("statistical", m=1, tau=0.01, beta=0.01, epsilon=epsilon)
        ratio = (8 / epsilon**2 + 1) * math.tanh(epsilon / 2) ** 2
        assert table["local, Laplace"].n == pytest.approx(ratio * table["local"].n, rel=0.01)


@pytest.mark.statistical
@pytest.mark.parametrize("epsilon", [0.5, 2.0])
def test_local_laplace_is_within_tau_at_its_size(epsilon):
    """Values at both ends, noise of scale 2 / epsilon; fails with probability 1e-6."""
    tau, beta = 0.2, 0.1
    n = samples("statistical", m=1, tau=tau, beta=beta, epsilon=epsilon)["local, Laplace"].n
    rng, runs = np.random.default_rng(6), min(RUNS, 4000)
    off = np.array([(rng.choice([-1, 1], n) + rng.laplace(0, 2 / epsilon, n)).mean() for _ in range(runs)])

    assert (abs(off) > tau).sum() <= binom.ppf(1 - 1e-6, runs, beta)
    assert (abs(off) > tau / 4).mean() > beta  # a sixteenth of the rows would not do


@pytest.mark.parametrize("m", [1, 3, 50])
@pytest.mark.parametrize("epsilon", [0.3, 1.0])
def test_the_factorization_needs_what_its_moments_say(m, epsilon):
    """Duchi's directions: second moment gamma^2 / (m c_m^2 tanh^2), at most pi / 2 times gamma^2 / tanh^2."""
    gamma, tau, beta, c = 0.7, 0.01, 0.05, math.tanh(epsilon / 2)
    mean = math.gamma(m / 2) / math.gamma((m + 1) / 2) / math.sqrt(math.pi)  # E |V . u| on the sphere
    square, reach, level = gamma**2 / (m * mean**2 * c**2), gamma / (mean * c) + gamma, math.log(2 * m / beta)
    n = samples("statistical", m=m, tau=tau, beta=beta, epsilon=epsilon, gamma=gamma)["local, factorization"].n

    def error(n):
        return math.sqrt(2 * square * level / n) + 2 * reach * level / (3 * n)

    assert error(n) <= tau < error(n - max(2, n // 10**6))
    assert square <= math.pi / 2 * gamma**2 / c**2
    shape = math.pi * gamma**2 * level / (c * tau) ** 2
    assert n <= 1.15 * shape
    assert m == 1 or n >= 0.75 * shape
    same = samples("statistical", m=m, tau=tau, beta=beta, epsilon=epsilon, gamma=gamma * 1e9)
    assert (
        same["local, factorization"]
        == samples("statistical", m=m, tau=tau, beta=beta, epsilon=epsilon)["local, factorization"]
    )  # gamma_2 is never above the root of m


def test_improper_learners_are_bound_by_communication():
    """Of the order of the digits over epsilon, for every class of which so many bits can be asked for."""
    for problem in ("thresholds", "intervals", "parities", "conjunctions"):
        few, many = (
            samples(problem, d=d, alpha=0.05, beta=0.05, epsilon=0.1)["private, lower bound, by communication"].n
            for d in (100, 400)
        )
        assert 100 < few < many / 3
        assert "proper or not" in samples(problem, d=9, alpha=0.05, epsilon=1.0)[
            "private, lower bound, by communication"
        ].note  # fmt: skip
    q = Question(0.05, 0.05, 0.1, 0.0)
    n = formulas.communication_rows(FiniteClass.named("thresholds", 100), q)
    for g in (0.01, 0.1, 0.2):  # the list of a learner from n - 1 rows would be too short a message
        bits = math.ceil(math.log2(list_length(epsilon=0.1, n=n, failure=g, beta=0.05)))
        assert bits >= 100 * (1 - formulas.entropy(0.05 + g))
    assert any(
        math.ceil(math.log2(list_length(epsilon=0.1, n=n // 2, failure=g, beta=0.05)))
        < 100 * (1 - formulas.entropy(0.05 + g))
        for g in (0.01, 0.1, 0.2)
    )
    assert formulas.communication_rows(FiniteClass.named("thresholds", 100), Question(0.5, 0.05, 0.1, 0.0)) is None
    assert formulas.communication_rows(FiniteClass.named("thresholds", 100), Question(0.1, 0.05, 0.1, 1e-6)) is None


def test_a_table_prints_is_a_file_and_draws_itself():
    table = samples("thresholds", d=10, alpha=0.1, beta=0.05, epsilon=1.0)
    read = list(csv.DictReader(io.StringIO(table.to_csv())))

    assert [row["name"] for row in read] == [row.name for row in table]
    assert int(read[6]["n"]) == 850
    assert {line.count("|") for line in str(table).splitlines()[2:]} == {7}
    curves = table.curves()
    assert {row["against"] for row in curves} == {"error", "epsilon"}
    assert table.plot().to_dict()["facet"]["column"]["field"] == "against"
    largest = max(row["value"] for row in curves if row["against"] == "error")
    assert largest == pytest.approx(0.1)


def test_n_falls_with_the_error_and_with_epsilon():
    curves = samples("thresholds", d=10, alpha=0.1, beta=0.05, epsilon=1.0).curves()
    for against in ("error", "epsilon"):
        for name in {row["name"] for row in curves}:
            line = [row["n"] for row in curves if row["name"] == name and row["against"] == against]

            assert all(a >= b for a, b in pairwise(line))


@pytest.mark.parametrize(
    "wrong",
    [
        {"problem": "halfspaces"},
        {"alpha": 0},
        {"alpha": 1.0},
        {"alpha": float("nan")},
        {"alpha": None},
        {"beta": 0},
        {"epsilon": 0},
        {"epsilon": float("inf")},
        {"epsilon": True},
        {"delta": 1},
        {"delta": -1e-9},
        {"d": None},
        {"d": 0},
        {"d": 2.5},
        {"d": True},
        {"problem": "finite"},
        {"problem": "statistical", "tau": 0.1},
        {"problem": "statistical", "m": 3},
        {"gamma": 1.0},
        {"problem": "statistical", "m": 3, "tau": 0.1, "gamma": 0},
        {"problem": "statistical", "m": 3, "tau": 0.1, "gamma": math.inf},
        {"model": "shuffled"},
    ],
)
def test_what_is_no_question_is_refused(wrong):
    with pytest.raises(ParameterError):
        samples(**{"problem": "thresholds", "d": 10, "alpha": 0.1, "beta": 0.05, "epsilon": 1.0, **wrong})


def test_every_problem_has_rows_of_either_side():
    given = {"d": 8, "size": 100, "m": 5, "tau": 0.1, "alpha": 0.1, "epsilon": 1.0}
    for problem in PROBLEMS:
        table = samples(problem, **given)

        assert any(row.side == "enough" for row in table)
        with pytest.raises(ParameterError, match="no row 'none'; there are 'not private"):
            table["none"]
