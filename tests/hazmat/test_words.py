"""Every array sampler on words that leave two answers open: more bits are drawn, and they decide.

A first word that lies on a boundary of its law says nothing by itself: with zeros after it it lies below, and
with ones above.  Chance meets such a word with a probability of 2^-40 or less; no statistic would see it mistaken.
"""

from __future__ import annotations

from fractions import Fraction

import mpmath
import numpy as np
import pytest

from discreet.hazmat import samplers
from discreet.hazmat.entropy import SeededRandom
from discreet.hazmat.exponent import exp_bounds
from discreet.hazmat.laws import Digit, GaussianBlock, Quotient, SignedQuotient
from discreet.hazmat.rejected import GaussianLaw, PowerLaw, _estimate, _noise
from discreet.hazmat.rejected import settle as settle_rejected
from discreet.hazmat.rounded import LEAST, CauchyLaw, LaplaceLaw, LomaxLaw, _array
from discreet.hazmat.samplers import bernoulli, bernoulli_exp, discrete_gaussian, discrete_laplace, geometric
from discreet.hazmat.selection_rows import permute_and_flip_rows, softmax_rows
from discreet.hazmat.selection_runs import Runs, choose_run
from discreet.hazmat.table import COMPILED, Table
from discreet.hazmat.truncated import _upper_side, truncated_laplaces
from tests.hazmat.enumeration import agrees

mpmath.mp.dps = 60


class Scripted:
    """These words first, then those of a seed; all further bits are zeros, or all of them ones."""

    secure = False

    def __init__(self, *first, ones):
        self.first, self.ones, self.asked = [np.asarray(one, dtype=np.uint64) for one in first], ones, 0
        self.rest = SeededRandom(1)

    def words(self, count):
        if not self.first:
            return self.rest.words(count)
        found = self.first.pop(0)
        return np.resize(found, count)

    def bits(self, count):
        self.asked += 1
        return (1 << count) - 1 if self.ones else 0


def on_both_sides(draw, *first):
    """What is drawn from these first words, followed by zeros and by ones; more bits were asked for each time."""
    found = []
    for ones in (False, True):
        rng = Scripted(*first, ones=ones)
        found.append(draw(rng))
        assert rng.asked
    return found


LAWS = [
    Quotient(Fraction(1, 3)),
    SignedQuotient(Fraction(1, 5), 0),
    Digit(Fraction(1, 1000)),
    GaussianBlock(Fraction(9), 1),
]


@pytest.mark.parametrize("size", [40, COMPILED])
@pytest.mark.parametrize("law", LAWS, ids=lambda law: type(law).__name__)
def test_a_word_on_a_threshold_of_a_table_is_settled(law, size):
    """The only one of its array that is."""
    table = Table(law)
    for k in (0, 1, 5):
        words = np.zeros(size, dtype=np.uint64)
        words[7] = table.thresholds[k]
        below, above = on_both_sides(lambda rng, words=words: table.lookup(rng.words(size), rng), words)

        assert below[7] == k
        assert above[7] == k + 1


@pytest.mark.parametrize(
    ("draw", "chance"),
    [
        (lambda **how: bernoulli("1/3", **how), lambda bits: (1 << bits) // 3),
        (lambda **how: bernoulli_exp(1, **how), lambda bits: exp_bounds(Fraction(1), bits)[0]),
    ],
)
def test_a_word_on_the_chance_of_a_coin_is_settled(draw, chance):
    below, above = on_both_sides(lambda rng: draw(shape=(7,), rng=rng), [chance(64)])

    assert below.all()
    assert not above.any()


@pytest.mark.parametrize("sigma", [65, 1000, 10**6])
def test_a_word_on_the_chance_of_a_gaussian_try_is_settled(sigma):
    variance = Fraction(sigma) ** 2
    _, block = samplers._gaussian_table(variance)
    spent = block.bit_length() - 1
    for head, inside in ((2, block - 1), (90, block // 2), (181, 1)):
        x = Fraction(inside * (2 * ((head >> 1) * block + (head & 1)) + inside)) / (2 * variance)
        word = np.array([exp_bounds(x, 64 - spent)[0] << spent | inside], dtype=np.uint64)
        below, above = on_both_sides(
            lambda rng, head=head, word=word: samplers._kept(np.array([head]), word, block, variance, rng)
        )

        assert below.all()
        assert not above.any()


GAPS = np.array([[0, 3, 1, 9], [5, 5, 0, 2]], dtype=np.uint64)
RATE = Fraction(1, 3)


@pytest.mark.parametrize("widths", [None, (1, 2, 50, 3)])
def test_a_word_on_a_boundary_of_a_choice_in_rows_is_settled(widths):
    row = GAPS[0]
    weights = [(widths or [1] * 4)[i] * exp_bounds(RATE * int(gap), 400)[0] for i, gap in enumerate(row)]
    for i in range(3):
        word = (sum(weights[: i + 1]) << 64) // sum(weights)
        below, above = on_both_sides(
            lambda rng: softmax_rows(
                np.array([row]), RATE, widths=None if widths is None else np.array(widths), rng=rng
            ),
            [word],
        )

        assert below.tolist() == [i]
        assert above.tolist() == [i + 1]


def test_a_word_on_the_chance_of_a_flip_in_rows_is_settled():
    """The best always succeeds: where the other does too, one of them is drawn, and else it is the best."""
    word = exp_bounds(RATE * 3, 64)[0]
    from discreet.hazmat.selection_rows import _flips

    below, above = on_both_sides(lambda rng: _flips(np.array([[3, 0]], dtype=np.uint64), RATE, rng), [word, 0])

    assert below.tolist() == [[True, True]]
    assert above.tolist() == [[False, True]]
    assert permute_and_flip_rows(np.array([[0, 3]], dtype=np.uint64), RATE, rng=Scripted([0, word], ones=True)) == [0]


def test_runs_are_chosen_by_their_law_in_every_string_of_bits():
    """Words of four bits: the first look leaves most of them open, and what lies beyond the reach has its weight."""
    gaps, widths = [0, 1, 2, 5, 9], [1, 2, 1, 50, 3]
    weights = [w * mpmath.exp(-mpmath.mpf(gap) / 3) for gap, w in zip(gaps, widths, strict=True)]

    def runs(reach):
        near = [i for i, gap in enumerate(gaps) if gap <= reach]
        return Runs([gaps[i] for i in near], [widths[i] for i in near], sum(widths) - sum(widths[i] for i in near))

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("discreet.hazmat.selection_runs.MISSED", -3)  # so that the first look ends at a gap of 4
        assert agrees(
            lambda tape: choose_run(runs, RATE, candidates=sum(widths), rng=tape, width=4)[0],
            lambda place: weights[place] / sum(weights),
            depth=16,
        )


@pytest.mark.parametrize(("scale", "under", "above"), [(10, 3, 50), (Fraction(1, 2), 1, 1), (10**6, 10**7, 5)])
def test_a_word_between_the_sides_of_truncated_noise_is_settled(scale, under, above):
    word = _upper_side(Fraction(scale), under, above, 64)[0]
    sides = {"under": np.array([under] * 9), "above": np.array([above] * 9)}
    upper, lower = on_both_sides(lambda rng: truncated_laplaces(Fraction(scale), **sides, rng=rng), [word])

    assert (upper >= 0).all()
    assert (lower < 0).all()


def half(law, k):
    """The 63-bit prefix of the V at which T(V) is k + 1/2."""
    at = mpmath.mpf(2 * k + 1) / 2
    match law:
        case LaplaceLaw():
            v = mpmath.exp(-at)
        case CauchyLaw():
            v = 2 / mpmath.pi * mpmath.acot(at)
        case _:
            v = (1 + at) ** -(mpmath.mpf(law.index.numerator) / law.index.denominator)
    return int(mpmath.floor(v * 2**63))


@pytest.mark.parametrize("law", [LaplaceLaw(), CauchyLaw(), LomaxLaw(Fraction(3))], ids=lambda law: type(law).__name__)
@pytest.mark.parametrize("k", [0, 1, 4])
@pytest.mark.parametrize("sign", [0, 1])
@pytest.mark.parametrize("kind", [np.int64, object])
def test_a_word_whose_noise_lies_on_a_half_is_settled(law, k, sign, kind):
    """A smaller V is larger noise."""
    word, base = half(law, k) << 1 | sign, np.array([100], dtype=kind)
    larger, smaller = on_both_sides(lambda rng: _array(law, Fraction(1), Fraction(0), base, rng), [word])
    away = -1 if sign else 1

    assert larger.tolist() == [100 + away * (k + 1)]
    assert smaller.tolist() == [100 + away * k]


@pytest.mark.parametrize("law", [LaplaceLaw(), CauchyLaw(), LomaxLaw(Fraction(3))], ids=lambda law: type(law).__name__)
@pytest.mark.parametrize("prefix", [1, 5, LEAST >> 12, LEAST - 1])
def test_a_prefix_that_says_little_is_drawn_on(law, prefix):
    """The tail: what the next bits say moves the noise by a part of 1 / prefix, which is much at this scale."""
    scale, base = Fraction(1 << 46), np.array([0], dtype=object)
    larger, smaller = on_both_sides(lambda rng: _array(law, scale, Fraction(0), base, rng), [prefix << 1])

    assert larger[0] > smaller[0]


@pytest.mark.parametrize("law", [GaussianLaw(), PowerLaw(4)], ids=lambda law: type(law).__name__)
@pytest.mark.parametrize("ones", [False, True])
def test_a_proposal_on_its_chance_is_settled(law, ones):
    """Coins that are the float estimate of the chance to the last bit: many estimates are wrong, none is kept."""
    words = SeededRandom(3).words(60)
    chance = law.kept(law.proposal.estimate(((words >> np.uint64(1)).astype(np.float64) + 0.5) * 2.0**-63)[0])
    settled = guessed = 0
    for word, p in zip(words.tolist(), chance.tolist(), strict=True):
        if p >= 1:
            continue
        for coin in (int(p * 2**64), int(p * 2**64) - 2**9, int(p * 2**64) + 2**9):
            exactly = settle_rejected(law, Fraction(7), Fraction(0), word, coin, rng=Scripted(ones=ones))
            rng = Scripted([word], [coin], ones=ones)
            out, large = _noise(law, Fraction(7), Fraction(0), 1, rng)
            assert large.get(0, out[0]) == exactly if exactly is not None else not large
            settled += 1
            kept = _estimate(law, Fraction(7), Fraction(0), np.array([word], np.uint64), np.array([coin], np.uint64))[1]
            guessed += bool(kept[0]) != (exactly is not None)

    assert settled > 100
    assert guessed > 5  # the twin that believes its floats is wrong as often


@pytest.mark.parametrize(
    "draw",
    [
        lambda rng, n: discrete_laplace(5000, shape=(n,), rng=rng),
        lambda rng, n: geometric(5000, shape=(n,), rng=rng),
        lambda rng, n: discrete_gaussian(10**8, shape=(n,), rng=rng),
        lambda rng, n: truncated_laplaces(Fraction(5000), under=np.full(n, 9000), above=np.full(n, 9000), rng=rng),
    ],
)
def test_no_two_parts_of_a_draw_are_made_of_the_same_bits(draw):
    """Digits, quotient, place and verdict: each word of the source is used in one place, and draws differ."""

    class Watched:
        def __init__(self):
            self.random, self.given = SeededRandom(4), []

        def words(self, count):
            self.given.append(self.random.words(count))
            return self.given[-1].copy()

        def bits(self, count):
            return self.random.bits(count)

    rng = Watched()
    found = np.asarray(draw(rng, 4096), dtype=float)

    assert sum(len(one) for one in rng.given) >= 2 * 4096  # two words a draw, at least
    low, high = found % 256, found // 256
    assert abs(np.corrcoef(low, high)[0, 1]) < 0.1  # of independent ones beyond 6 standard deviations
    assert abs(np.corrcoef(found[:-1], found[1:])[0, 1]) < 0.1
    assert len(np.unique(found)) > 2000
