"""discreet.learning.pac.error_draw: one law, whether a class is listed, streamed or in runs."""

from dataclasses import dataclass, field
from fractions import Fraction

import numpy as np
import pytest
from scipy.stats import chisquare

from discreet.errors import UnsupportedError
from discreet.hazmat.entropy import SeededRandom
from discreet.learning.pac import error_draw
from discreet.learning.pac.error_draw import draw_hypothesis
from discreet.learning.pac.hypotheses import Listed, Thresholds
from tests.scale import counts

DRAWS = counts(quick=4_000, full=100_000)
X, Y = np.tile([1, 1, 3, 6, 6, 7], 3), np.tile([0, 0, 0, 1, 1, 0], 3)
RATE = Fraction(1, 2)


@dataclass(frozen=True)
class Streamed:
    """Thresholds that hide their runs."""

    inner: Thresholds

    @property
    def size(self):
        return self.inner.size

    def hypothesis(self, index):
        return self.inner.hypothesis(index)

    def errors(self, x, y, start, stop, *, weights=None):
        return self.inner.errors(x, y, start, stop, weights=weights)


def _pvalue(hypotheses, rate, *, seed):
    rng = SeededRandom(seed)
    drawn = np.bincount([draw_hypothesis(hypotheses, X, Y, rate, rng=rng) for _ in range(DRAWS)], minlength=9)
    weights = np.exp(-float(RATE) * Thresholds(8).errors(X, Y, 0, 9))
    return chisquare(drawn, DRAWS * weights / weights.sum()).pvalue


@pytest.mark.statistical
@pytest.mark.parametrize(
    ("made", "block"),
    [
        (Thresholds(8), 1 << 20),
        (Streamed(Thresholds(8)), 1 << 20),
        (Streamed(Thresholds(8)), 4),
        (Listed([Thresholds(8).hypothesis(t) for t in range(9)]), 1 << 20),
    ],
    ids=["runs", "one block", "streamed", "functions"],
)
def test_every_path_draws_from_the_stated_law(made, block, monkeypatch):
    monkeypatch.setattr(error_draw, "BLOCK", block)

    assert _pvalue(made, RATE, seed=1) > 1e-6


@pytest.mark.statistical
def test_a_rate_too_large_is_caught():
    assert _pvalue(Thresholds(8), RATE * 5 / 4, seed=2) < 1e-6


def test_streams_and_runs_make_the_same_draw_from_the_same_bits(monkeypatch):
    monkeypatch.setattr(error_draw, "BLOCK", 3)
    pairs = [
        [draw_hypothesis(made, X, Y, RATE, rng=SeededRandom(seed)) for made in (Thresholds(8), Streamed(Thresholds(8)))]
        for seed in range(50)
    ]

    assert all(a == b for a, b in pairs)
    assert len({a for a, _ in pairs}) > 3


def test_with_no_rows_every_hypothesis_is_as_likely():
    none = np.array([], dtype=np.int64)
    drawn = {draw_hypothesis(Thresholds(3), none, none, Fraction(5), rng=SeededRandom(seed)) for seed in range(60)}

    assert drawn == {0, 1, 2, 3}


def test_a_hundred_million_thresholds_in_streams():
    """The promise is a minute; a smaller class here, the whole in the benchmark."""
    size = counts(quick=5_000_000, full=100_000_000)
    x = np.random.default_rng(0).integers(0, size, 1000)
    found = draw_hypothesis(Streamed(Thresholds(size)), x, x >= size // 3, Fraction(20), rng=SeededRandom(1))

    assert found == draw_hypothesis(Thresholds(size), x, x >= size // 3, Fraction(20), rng=SeededRandom(1))
    assert ((x >= found) == (x >= size // 3)).all()


@dataclass(frozen=True)
class Fickle(Streamed):
    """A class that counts otherwise each time."""

    inner: Thresholds
    calls: list = field(default_factory=list)

    def errors(self, x, y, start, stop, *, weights=None):
        self.calls.append(start)
        return np.full(stop - start, 0 if len(self.calls) > 3 else len(x))


def test_a_class_that_changes_its_mind_is_refused(monkeypatch):
    monkeypatch.setattr(error_draw, "BLOCK", 3)

    with pytest.raises(UnsupportedError, match="a function of the rows"):
        draw_hypothesis(Fickle(Thresholds(8)), X, Y, RATE, rng=SeededRandom(1))


def test_more_errors_than_rows_are_refused():
    class Loud(Streamed):
        def errors(self, x, y, start, stop, *, weights=None):
            return np.full(stop - start, len(x) + 1)

    with pytest.raises(UnsupportedError, match="more errors than rows"):
        draw_hypothesis(Loud(Thresholds(8)), X, Y, RATE)
