"""discreet.local.kernels: every compiled loop against its definition, words and draws enumerated."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction

import numpy as np
import pytest
from scipy.stats import chisquare

from discreet.hazmat.entropy import SeededRandom
from discreet.local import HadamardResponse, ProjectiveGeometryResponse
from discreet.local.fields import field
from discreet.local.kernels import biased_bits, column_sums, exact_sizes, points
from discreet.local.projective import count
from discreet.local.unary import noisy_rows


@pytest.mark.parametrize("level", range(1, 8))
def test_bits_compare_their_digits_with_the_level(level):
    """Lane b holds the uniform number with digits b % 8: all eight numbers of three digits, eight times each."""
    digits = [np.uint64(sum(1 << b for b in range(64) if (b % 8) >> (2 - j) & 1)) for j in range(3)]
    out = np.zeros(1, dtype=np.uint64)
    reached = biased_bits(np.array(digits, dtype=np.uint64), np.uint64(level), 3, out, 0)

    assert reached == 1
    assert [int(out[0]) >> b & 1 for b in range(64)] == [int(b % 8 < level) for b in range(64)]


def test_bits_stop_where_the_words_end_and_go_on():
    out = np.full(10, 7, dtype=np.uint64)
    words = SeededRandom(1).words(60)
    at = biased_bits(words, np.uint64(1 << 46), 48, out, 0)

    assert 1 <= at < 10
    assert (out[at:] == 7).all()
    more = SeededRandom(2)
    while at < 10:
        at = biased_bits(more.words(60), np.uint64(1 << 46), 48, out, at)


@pytest.mark.parametrize("size", [1, 63, 64, 65, 130])
def test_rows_hold_nothing_beyond_their_size(size):
    rows = noisy_rows(Fraction(3, 4), 50, size, SeededRandom(3))
    bits = np.unpackbits(rows.view(np.uint8), axis=1, bitorder="little")

    assert not bits[:, size:].any()
    assert abs(bits[:, :size].mean() - 0.75) < 6 * np.sqrt(0.1875 / (50 * size))


@pytest.mark.parametrize("rows", [0, 1, 254, 255, 256, 1000])
def test_column_sums_are_those_of_the_bits(rows):
    words = SeededRandom(rows).words(3 * rows).reshape(rows, 3)
    found = np.full(192, 5, dtype=np.int64)
    column_sums(words, found)

    assert (
        found == 5 + np.unpackbits(words.view(np.uint8).reshape(rows, 24), axis=1, bitorder="little").sum(axis=0)
    ).all()


@pytest.mark.parametrize("start", [0, 1])
def test_sets_have_their_size_without_the_own_value(start):
    """From full and from empty sets alike; words that run out are continued."""
    rows = np.full((200, 2), 0 if start else (1 << 64) - 1, dtype=np.uint64)
    rows[:, 1] &= np.uint64((1 << 6) - 1)
    values, sizes = np.arange(200) % 70, np.arange(200) % 69
    at, random = 0, SeededRandom(4)
    while at < 200:
        at = exact_sizes(random.words(64), rows, values, sizes, 70, at)
    bits = np.unpackbits(rows.view(np.uint8), axis=1, bitorder="little")

    assert (bits.sum(axis=1) == sizes).all()
    assert not bits[np.arange(200), values].any()
    assert not bits[:, 70:].any()


@pytest.mark.statistical
def test_mended_sets_are_uniform():
    runs = 30_000
    rows = noisy_rows(Fraction(1, 4), runs, 5, SeededRandom(8))
    at, random = 0, SeededRandom(7)
    while at < runs:
        at = exact_sizes(random.words(1 << 12), rows, np.full(runs, 2), np.full(runs, 2), 5, at)
    seen = Counter(rows[:, 0].tolist())

    assert len(seen) == 6  # pairs of the four others
    assert chisquare(list(seen.values())).pvalue > 1e-6


@pytest.mark.parametrize(("epsilon", "size"), [(0.2, 7), (1, 21), (1, 5), (2, 60)])
def test_every_draw_gives_another_point_on_or_off_the_hyperplane(epsilon, size):
    """Uniform numbers give uniform points, since the map is one to one; enumerated for some values."""
    protocol = ProjectiveGeometryResponse(epsilon=epsilon, size=size)
    q, t, found = protocol.order, protocol.length, field(protocol.order)
    for value in (0, 1, size // 2, size - 1):
        on = {u for u, chance in protocol.law(value).items() if chance * count(q, t - 1) == protocol.truth}
        for inside, draws in ((True, count(q, t - 1)), (False, q ** (t - 1))):
            reports = np.empty(draws, dtype=np.int64)
            points(
                np.full(draws, value), np.full(draws, inside), np.arange(draws), q, t,
                found.plus, found.minus, found.times, found.inverse, reports,
            )  # fmt: skip

            assert len(set(reports.tolist())) == draws
            assert set(reports.tolist()) == (on if inside else set(range(protocol.points)) - on)


@pytest.mark.parametrize("told", [True, False])
def test_every_column_of_a_hadamard_half_comes_from_two_words(told):
    protocol = HadamardResponse(epsilon=1, size=7)

    class Words:
        """Every column once, after a coin that is always the same."""

        def __init__(self):
            self.calls = 0

        def words(self, wanted):
            self.calls += 1
            return (
                np.full(wanted, 0 if told else (1 << 64) - 1, dtype=np.uint64)
                if self.calls == 1
                else np.arange(wanted, dtype=np.uint64)
            )

    for value in range(7):
        seen = Counter(protocol.draw(np.full(8, value), Words()).tolist())
        law = protocol.law(value)
        half = {c for c, chance in law.items() if (chance == max(law.values())) == told}

        assert seen == dict.fromkeys(half, 2)
