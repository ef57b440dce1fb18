"""discreet.structured.conjunctions.chebyshev: polynomial, program, weights and mechanism, each claim in order."""

import math
from fractions import Fraction
from itertools import combinations, product

import numpy as np
import pytest

from discreet.composition.price import price
from discreet.data.columns import Boolean
from discreet.data.domain import Domain
from discreet.data.records import Records
from discreet.errors import DomainError, ParameterError, UnsupportedError
from discreet.hazmat.entropy import SeededRandom
from discreet.privacy.guarantee import ZCDP, ApproxDP, PureDP
from discreet.privacy.neighbours import AddRemove, Replace
from discreet.structured.conjunctions.chebyshev import ChebyshevConjunctions
from discreet.structured.conjunctions.chebyshev_polynomial import coefficients, degree, values
from discreet.structured.conjunctions.conjunction_counts import level_counts, level_sizes, place
from discreet.structured.conjunctions.conjunction_levels import (
    deviation,
    krawtchouk,
    level_coefficients,
    multiplier,
    padded,
    tuned,
)
from discreet.structured.conjunctions.conjunction_rows import boolean_rows
from discreet.structured.conjunctions.conjunction_weights import moved, multiples
from tests.scale import counts

BUDGET = ApproxDP(1.0, 1e-6)
TENTH = Fraction(1, 10)
QUESTIONS = counts(quick=60, full=600)


def rows_of(d: int, n: int, seed: int = 0) -> np.ndarray:
    rng = np.random.default_rng(seed)
    return rng.random((n, d)) < 0.5 + 0.45 * rng.random(d)


def truth(rows: np.ndarray, literals: dict[int, bool], of: str) -> int:
    held = np.stack([rows[:, i] == wanted for i, wanted in literals.items()])
    return int((held.all(axis=0) if of == "conjunction" else held.any(axis=0)).sum())


# The polynomial.


@pytest.mark.parametrize("t", [1, 2, 3, 4, 8, 16, 32])
@pytest.mark.parametrize("alpha", [Fraction(1, 2), TENTH, Fraction(1, 100), Fraction(0)])
def test_the_polynomial_is_zero_at_zero_and_nearly_one_up_to_t(t, alpha):
    g = values(t, alpha)

    assert g[0] == 0
    assert all(abs(value - 1) <= alpha for value in g[1:])


@pytest.mark.parametrize(
    ("t", "alpha", "least"), [(8, TENTH, 5), (16, TENTH, 6), (32, TENTH, 9), (16, Fraction(1, 100), 11)]
)
def test_the_degree_is_the_published_one_and_one_less_is_too_few(t, alpha, least):
    assert degree(t, alpha) == least
    assert degree(t, alpha) == math.ceil(math.acosh(1 / alpha) / math.acosh((t + 1) / (t - 1)) - 1e-12)


def test_the_polynomial_has_the_published_values():
    assert float(max(abs(value - 1) for value in values(8, TENTH)[1:])) == pytest.approx(0.04966, abs=5e-6)
    assert float(max(abs(value - 1) for value in values(16, TENTH)[1:])) == pytest.approx(0.09311, abs=5e-6)
    published = [0.9503, -0.8638, 0.7007, -0.4539, 0.1816]
    assert [float(c) for c in coefficients(8, TENTH)[1:]] == pytest.approx(published, abs=6e-5)


def test_the_expansion_is_an_identity_on_all_vectors_of_six_bits():
    c, g = coefficients(6, Fraction(1, 5)), values(6, Fraction(1, 5))
    assert 1 < len(c) - 1 < 6
    for w, y in product(product([0, 1], repeat=6), repeat=2):
        both = sum(a * b for a, b in zip(w, y, strict=True))

        assert sum(c[s] * math.comb(both, s) for s in range(len(c))) == g[both]


# The program.


@pytest.mark.parametrize(
    ("d", "t", "alpha", "value"),
    [
        (20, 4, "0", 11.30), (20, 4, "0.1", 5.67), (50, 8, "0", 346.5), (50, 8, "0.1", 35.70), (100, 8, "0", 4128),
        (100, 8, "0.1", 135.4), (100, 8, "0.05", 385.7), (100, 8, "0.01", 1669),
    ],
)  # fmt: skip
def test_the_program_reaches_the_published_values(d, t, alpha, value):
    h = level_coefficients(d, t, Fraction(alpha))

    assert multiplier(d, t, h) == pytest.approx(value, rel=1e-3)
    assert deviation(t, h) <= Fraction(alpha)


@pytest.mark.parametrize(("d", "t"), [(100, 16), (100, 24), (1000, 16), (64, 32)])
def test_the_program_is_solved_for_many_literals(d, t):
    """The dual multipliers certify the optimum inside; here the rule is checked exactly."""
    h = level_coefficients(d, t, TENTH)

    assert deviation(t, h) <= TENTH
    assert len(h) - 1 <= t // 2
    assert multiplier(d, t, h) < 0.05 * multiplier(d, t, level_coefficients(d, t, Fraction(0)))


@pytest.mark.parametrize(("d", "t"), [(4, 1), (4, 2), (4, 3), (10, 2), (100, 3)])
def test_exact_rules_have_the_closed_form(d, t):
    """2^-t sum sqrt(C(t, j) C(d, j)): the least of all factorizations."""
    published = {(4, 1): 1.5, (4, 2): 1.569479, (4, 3): 1.338343, (10, 2): 3.04508, (100, 3): 67.788}

    assert multiplier(d, t, level_coefficients(d, t, Fraction(0))) == pytest.approx(published[d, t], rel=1e-5)


def test_a_rule_is_right_on_every_row_of_six_bits():
    h = level_coefficients(6, 6, Fraction(1, 20))
    for signs in product([-1, 1], repeat=6):
        value = sum(
            h[len(u)] * math.prod(signs[i] for i in u) for s in range(len(h)) for u in combinations(range(6), s)
        )

        assert abs(value - (min(signs) == 1)) <= Fraction(1, 20)


@pytest.mark.parametrize("r", range(1, 8))
def test_rules_for_fewer_literals_keep_alpha(r):
    full = level_coefficients(50, 8, TENTH)
    made = tuned(r, TENTH, (1.0, 2.0, 5.0, 7.0, 9.0))

    assert deviation(r, padded(full, 8 - r)[: r + 1]) <= TENTH or len(full) - 1 > r
    assert all(abs(sum(c * k for c, k in zip(padded(full, 8 - r), row, strict=False)) - (a == r)) <= TENTH
               for a, row in enumerate(krawtchouk(r)))  # fmt: skip
    assert made is None or deviation(r, made) <= TENTH


# The counts.


@pytest.mark.parametrize("kind", ["parity", "conjunction", "monotone"])
@pytest.mark.parametrize("n", [0, 1, 64, 70])
def test_every_set_is_counted_and_found(kind, n):
    rows = rows_of(5, n)
    levels = level_counts(rows, kind, 4)

    assert [len(level) for level in levels] == level_sizes(kind, 5, 4)
    for s in range(5):
        for attributes in combinations(range(5), s):
            for wanted in product([True, False], repeat=s) if kind == "conjunction" else [(True,) * s]:
                chosen = rows[:, list(attributes)]
                held = (chosen == wanted).all(axis=1).sum()
                sign = np.where(chosen, 1, -1).prod(axis=1).sum()
                literals = list(zip(attributes, wanted, strict=True))

                assert levels[s][place(kind, 5, literals)] == (sign if kind == "parity" else held)


# The weights.


@pytest.mark.parametrize("kind", ["parity", "conjunction", "monotone"])
@pytest.mark.parametrize("q", [(5, 3, 2), (0, 3, 2), (0, 1, 7, 2), (2, 1, 1, 4)])
@pytest.mark.parametrize("power", [1, 2])
@pytest.mark.parametrize("d", [3, 4, 5])
def test_the_sensitivity_is_that_of_the_worst_rows(kind, q, power, d):
    """All rows and all pairs of rows, against the closed forms."""
    every = np.array(list(product([False, True], repeat=d)))
    vectors = np.array(
        [
            np.concatenate(
                [level * m for level, m in zip(level_counts(row[None, :], kind, len(q) - 1), q, strict=True)]
            )
            for row in every
        ]
    )
    added = int((np.abs(vectors) ** power).sum(axis=1).max())
    replaced = max(int((np.abs(vectors - one) ** power).sum(axis=1).max()) for one in vectors)

    assert moved(kind, d, q, power=power, replaced=False) == added
    assert moved(kind, d, (0, *q[1:]), power=power, replaced=True) == replaced


@pytest.mark.parametrize("pure", [False, True])
def test_the_weights_are_the_best_up_to_rounding(pure):
    """Changing any multiple by an eighth raises the variance at a fixed price, or leaves it within a thousandth."""
    d, effort = 50, [1.0, 3.0, 9.0, 20.0]
    squares = [e * e / math.comb(d, s) for s, e in enumerate(effort)]  # C(t, s) c_s^2

    def variance(q):
        absolute = sum(m * math.comb(d, s) for s, m in enumerate(q))
        square = sum(m * m * math.comb(d, s) for s, m in enumerate(q))
        cost = absolute**2 if pure else square
        return cost * sum(square / m**2 for square, m in zip(squares, q, strict=True))

    best = multiples(d, effort, pure=pure)
    for s, step in product(range(4), (7 / 8, 9 / 8)):
        other = [m * step if i == s else m for i, m in enumerate(best)]

        assert variance(best) <= variance(other) * 1.001


@pytest.mark.parametrize(("relation", "factor"), [(AddRemove, 1), (Replace, 1.7589)])
def test_replaced_rows_cost_the_published_factor_more(relation, factor):
    """d = 100, t = 3: the factor 1.7589 on sigma_1 where rows are replaced."""
    exact = ChebyshevConjunctions(d=100, t=3, alpha=0, n=10, budget=ZCDP(0.5, neighbours=relation))

    assert exact.sd(3) == pytest.approx(67.788 * factor, rel=0.03)


# The mechanism.


def test_the_program_has_far_less_noise_than_the_polynomial():
    made = ChebyshevConjunctions(d=50, t=8, alpha=0.1, budget=BUDGET)
    chebyshev = ChebyshevConjunctions(d=50, t=8, alpha=0.1, budget=BUDGET, method="chebyshev", monotone=True)

    assert made.degree == 4
    assert made.size == sum(math.comb(50, s) for s in range(5))
    assert made.multiplier == pytest.approx(35.70, rel=0.08)
    assert made.sd(8) == pytest.approx(4.2247 * 35.70, rel=0.08)
    assert chebyshev.degree == 5
    assert chebyshev.size == sum(math.comb(50, s) for s in range(6))
    assert chebyshev.multiplier > 30 * made.multiplier


def test_published_noise_of_the_chebyshev_summary():
    """d = 100, t = 8, alpha = 1/10: 2.18e4 times the noise of a count."""
    c = coefficients(8, TENTH)
    total = sum(abs(float(x)) * math.sqrt(math.comb(8, s) * math.comb(100, s)) for s, x in enumerate(c))

    assert total == pytest.approx(2.18e4, rel=0.005)


@pytest.mark.parametrize("options", [{}, {"method": "chebyshev"}, {"method": "chebyshev", "monotone": True}])
@pytest.mark.parametrize("relation", [AddRemove, Replace])
@pytest.mark.parametrize("budget", [ZCDP, PureDP])
def test_the_event_costs_the_budget(options, relation, budget):
    made = ChebyshevConjunctions(d=8, t=4, alpha=0.1, n=100, budget=budget(0.3, neighbours=relation), **options)
    cost = price(made.event())

    assert made.privacy() == budget(0.3, neighbours=relation)
    if budget is PureDP:
        assert cost.epsilon == Fraction(3, 10)
    else:
        assert Fraction(3, 10) * (1 - Fraction(1, 10**12)) < cost.rho <= Fraction(3, 10)


@pytest.mark.parametrize("options", [{}, {"method": "chebyshev"}])
@pytest.mark.parametrize("left_out", [1, 2, 3])
def test_a_level_left_uncharged_is_caught(options, left_out):
    """Two rows that differ everywhere, or a row and none: the true divergence against one without a level."""
    made = ChebyshevConjunctions(d=6, t=4, alpha=0.1, budget=ZCDP(0.3), **options)
    row = np.ones((1, 6), dtype=bool)
    levels = level_counts(row, made.kind, made.degree)
    change = sum(int(((level * q) ** 2).sum()) for level, q in zip(levels, made.multiples, strict=True))
    uncharged = tuple(0 if s == left_out else q for s, q in enumerate(made.multiples))
    short = moved(made.kind, 6, uncharged, power=2, replaced=False) / (2 * Fraction(3, 10))

    assert change / (2 * Fraction(made.noise.sigma) ** 2) <= Fraction(3, 10)
    assert change / (2 * short) > Fraction(3, 10)


@pytest.mark.parametrize("options", [{}, {"method": "chebyshev"}])
@pytest.mark.parametrize("relation", [AddRemove, Replace])
def test_without_noise_every_answer_is_within_alpha(options, relation):
    rows = rows_of(7, 150)
    made = ChebyshevConjunctions(d=7, t=5, alpha=0.1, n=150, budget=ZCDP(10**15, neighbours=relation), **options)
    summary = made(rows)
    rng = np.random.default_rng(1)
    worst = 0.0
    for _ in range(QUESTIONS):
        size = int(rng.integers(1, 6))
        literals = {int(i): bool(rng.integers(2)) for i in rng.choice(7, size, replace=False)}
        for of in ("conjunction", "disjunction"):
            worst = max(worst, abs(summary.answer(literals, of=of) - truth(rows, literals, of)))

    assert 0.5 < worst <= 15 + 1e-6
    assert made.accuracy() == pytest.approx(15, abs=0.1)


def test_alpha_zero_is_exact():
    rows = rows_of(6, 100)
    for options in ({}, {"method": "chebyshev"}):
        summary = ChebyshevConjunctions(d=6, t=4, alpha=0, budget=ZCDP(10**15), **options)(rows)
        for literals in ({0: True, 1: True, 2: True, 5: True}, {0: False}, {1: True, 3: False, 4: True}):
            for of in ("conjunction", "disjunction"):
                assert summary.answer(literals, of=of) == pytest.approx(truth(rows, literals, of), abs=1e-3)


def test_a_monotone_summary_answers_what_it_counted():
    rows = rows_of(6, 100)
    summary = ChebyshevConjunctions(d=6, t=3, alpha=0, budget=ZCDP(10**15), method="chebyshev", monotone=True)(rows)

    for literals, of in (({0: True, 2: True}, "disjunction"), ({0: False, 2: False, 5: False}, "conjunction")):
        assert summary.answer(literals, of=of) == pytest.approx(truth(rows, literals, of), abs=1e-3)
    with pytest.raises(UnsupportedError, match="a monotone summary"):
        summary.answer({0: True, 1: False}, of="disjunction")


@pytest.mark.statistical
@pytest.mark.parametrize("budget", [BUDGET, PureDP(1.0)])
@pytest.mark.parametrize("options", [{}, {"method": "chebyshev"}, {"n": 3000}])
def test_the_noise_is_as_stated_and_the_bound_holds(budget, options):
    """Repeated releases: the standard deviation within 5 of its own, and no error beyond accuracy at 1e-6."""
    rows = rows_of(6, 3000)
    made = ChebyshevConjunctions(d=6, t=4, alpha=0.1, budget=budget, **options)
    literals = {0: True, 2: False, 3: True, 5: True}
    times = counts(quick=300, full=3000)
    found = [made(rows, rng=SeededRandom(seed)) for seed in range(times)]
    kind = "conjunction" if made.method == "chebyshev" else "disjunction"  # the noisier, with the noise of n
    answers = np.array([summary.answer(literals, of=kind) for summary in found])

    assert answers.std() == pytest.approx(made.sd(4), rel=5 * math.sqrt(1.25 / times))
    assert np.abs(answers - truth(rows, literals, kind)).max() <= found[0].accuracy(1e-6, size=times)
    assert found[0].accuracy(0.05) >= found[0].accuracy(0.05, size=1)


def test_every_form_of_the_same_rows_gives_the_same_summary():
    rows = rows_of(4, 60)
    domain = Domain({name: Boolean() for name in "abcd"})
    records = Records(domain, [column.astype(int) for column in rows.T])
    made = ChebyshevConjunctions(d=4, t=3, alpha=0.1, budget=BUDGET)
    forms = [rows, np.where(rows, 1, -1), records, records.histogram()]
    found = [made(form, rng=SeededRandom(2)).answer({0: True, 3: False}) for form in forms]

    assert len(set(found)) == 1


def test_the_number_of_rows_is_measured_and_not_read():
    made = ChebyshevConjunctions(d=6, t=3, alpha=0.1, budget=BUDGET)

    assert len({made(rows_of(6, 100), rng=SeededRandom(seed)).n for seed in range(8)}) == 8


def test_what_is_too_large_is_refused_with_its_size():
    with pytest.raises(ParameterError, match="counts=17278988696"):
        ChebyshevConjunctions(d=100, t=8, alpha=0.01, budget=BUDGET)


@pytest.mark.parametrize(
    "bad",
    [
        {"d": 0}, {"d": True}, {"t": 0}, {"t": 9}, {"t": 2.0}, {"alpha": -0.1}, {"alpha": 1}, {"alpha": float("nan")},
        {"method": "magic"}, {"monotone": True}, {"n": 0}, {"budget": PureDP(0)},
        {"monotone": 1, "method": "chebyshev"}, {"budget": PureDP(1, neighbours=Replace)},
    ],
)  # fmt: skip
def test_rejects_bad_parameters(bad):
    with pytest.raises(ParameterError):
        ChebyshevConjunctions(**({"d": 8, "t": 4, "alpha": 0.1, "budget": PureDP(1)} | bad))


@pytest.mark.parametrize(
    "literals", [{}, {8: True}, {-1: True}, dict.fromkeys(range(5), True), {True: True}, {0.5: True}]
)
def test_rejects_bad_questions(literals):
    summary = ChebyshevConjunctions(d=8, t=4, alpha=0.1, budget=BUDGET)(rows_of(8, 20))

    with pytest.raises(ParameterError, match="1 to 4 literals"):
        summary.answer(literals)
    with pytest.raises(ParameterError, match="of conjunction or disjunction"):
        summary.answer({0: True}, of="both")


@pytest.mark.parametrize("kind", [np.int8, np.int64, np.uint8, np.float16, np.float64])
def test_every_number_is_read_and_none_tells_of_itself(kind):
    """Above 0 is True, all else False, whatever it is: an error would tell of a row, and one row changes no other."""
    values = [1, 2, 120] + ([] if kind is np.uint8 else [-1, -7])
    values += [0.5, np.inf, -np.inf, np.nan, -0.0] if np.dtype(kind).kind == "f" else [0]
    for value in values:
        rows = np.ones((3, 4), dtype=kind)
        rows[1, 2] = value
        expected = np.ones((3, 4), dtype=bool)
        expected[1, 2] = bool(value > 0)

        assert boolean_rows(rows, d=4).tolist() == expected.tolist()
        ChebyshevConjunctions(d=4, t=2, alpha=0.1, budget=BUDGET)(rows)


def test_rejects_bad_rows_and_forecasts():
    made = ChebyshevConjunctions(d=4, t=2, alpha=0.1, budget=BUDGET)
    for rows in (np.zeros((3, 5)), np.zeros(4), np.full((3, 4), "yes"), np.zeros((3, 4), dtype=complex)):
        with pytest.raises(DomainError):
            made(rows)
    with pytest.raises(DomainError, match="declared public"):
        ChebyshevConjunctions(d=4, t=2, alpha=0.1, n=9, budget=BUDGET)(rows_of(4, 10))
    with pytest.raises(UnsupportedError, match="say about how many"):
        made.accuracy(0.05)
