"""One run of private multiplicative weights: a public distribution h, corrected where a secret threshold says so.

A question q moves by at most D between neighbours, and so do its values between rows.  It compares, in integers,
f = q(x) - round(n0 q(h)) with a noisy threshold on both sides,

    f + N >= D (T + R)   or else   -f + N' >= D (T + R),
    N, N' ~ geometric(D query_scale),   R ~ geometric(threshold_scale).

Neither holds: the answer is round(n0 q(h)).  One holds, by a margin m: the answer is moved by m + D (s + (A + B) / 2)
in its direction, and h by multiplicative weights, so that q(h) moves by the gap that is certain.  What is known of
the distance from x to h falls by the relative entropy of that move.  Once it cannot pay for another update, or the
updates are used up, no question touches the data any more.  Proof: docs/theory/multiplicative_weights.md.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import TYPE_CHECKING

from discreet.data.arrays import Array, like, namespace, to_numpy, total
from discreet.data.histogram import Histogram
from discreet.errors import BudgetExhausted, UnsupportedError, require
from discreet.hazmat.entropy import RandomSource, source
from discreet.hazmat.one_process import OneProcess
from discreet.hazmat.samplers import geometric
from discreet.privacy.neighbours import AddRemove, Neighbours, Replace
from discreet.queries.local import Box
from discreet.queries.workload import Workload, same_domain
from discreet.release.online_settings import Settings
from discreet.release.online_suspended import Suspended

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

FITS = 1 << 60  # what a level times a span may be in 64 bits, beside noise and differences
NEARLY = "the values of this query are nearly one constant; subtract it, times the number of rows"
LEANING = 64  # how much larger than its range the values of a question may be
RENEWED = 64  # updates between two sums of all weights


class Distribution:
    """Weights on the cells, kept in place with their sum; `potential` bounds ln of the distance to the data."""

    __slots__ = ("_since", "mass", "potential", "weights")

    def __init__(self, cells: Array) -> None:
        library = namespace(cells)
        self.weights = library.ones_like(cells.reshape(-1), dtype=library.float64)
        self.mass = float(math.prod(cells.shape))
        self.potential = math.log(self.mass)
        self._since = 0

    def mean(self, query: Workload) -> float:
        """q(h)."""
        return query.apply(self.weights)[0].item() / self.mass

    def means(self, workload: Workload) -> Array:
        """q(h) for all questions of a workload."""
        return workload.apply(self.weights) / self.mass

    def move(self, query: Workload, span: int, gap: float) -> None:
        """Multiplicative weights: q(x) - q(h) is at least `gap` times `span`, or at most that if it is negative."""
        mean, size = self.mean(query), abs(gap)
        rate = _projecting(query, mean / span, gap) if isinstance(query, Box) else None
        rate = math.copysign(4 * size, gap) if rate is None else rate
        query.tilt(self.weights, rate / span)
        before, self.mass = self.mass, total(self.weights).item()
        self.potential -= rate * (gap + mean / span) - math.log(self.mass / before)
        self._since += 1
        if self._since == RENEWED:  # so that weights neither vanish nor overflow
            self.weights /= self.mass / len(self.weights)
            self.mass, self._since = total(self.weights).item(), 0


def _projecting(box: Box, mean: float, gap: float) -> float | None:
    """The rate that moves the share of the box, `mean` of 1 (or of -1), by exactly `gap`."""
    sign = 1 if box.value > 0 else -1
    old, new = sign * mean, sign * (mean + gap)
    if not (0 < old < 1 and 0 < new < 1):
        return None
    return sign * (math.log(new / old) - math.log((1 - new) / (1 - old)))


class Gate:
    """The noisy threshold: at most `updates` questions pass it, each with a sign and a margin."""

    __slots__ = ("_level", "_random", "left", "settings")

    def __init__(self, settings: Settings, *, rng: RandomSource | None = None) -> None:
        self.settings, self.left, self._random = settings, settings.updates, source(rng)
        self._draw()

    def _draw(self) -> None:
        self._level = self.settings.threshold + int(geometric(self.settings.threshold_scale, rng=self._random))

    def test(self, difference: int, span: int) -> tuple[int, int] | None:
        """(sign, margin) of a difference beyond the threshold, None of another."""
        scale, level = span * self.settings.query_scale, span * self._level
        for sign in (1, -1):
            margin = sign * difference + int(geometric(scale, rng=self._random)) - level
            if margin >= 0:
                self._passed()
                return sign, margin
        return None

    def first(self, differences: npt.NDArray[np.int64], spans: npt.NDArray[np.int64]) -> tuple[int, int, int] | None:
        """(place, sign, margin) of the first difference beyond the threshold."""
        import numpy as np

        if int(spans.max()) * self._level >= FITS:  # beyond 64 bits a margin would wrap, and no longer grow with f
            differences, spans = differences.astype(object), spans.astype(object)
        scale, size = self.settings.query_scale, differences.shape
        noise = np.empty((2, *size), dtype=spans.dtype)
        for span in sorted(set(spans.tolist())):
            here = spans == span
            shape = (2, int(here.sum()))
            noise[:, here] = geometric(int(span) * scale, shape=shape, rng=self._random)
        margins = noise + np.stack([differences, -differences]) - spans * self._level
        places = np.flatnonzero((margins >= 0).any(axis=0))
        if not len(places):
            return None
        self._passed()
        place = int(places[0])
        up, down = (int(margin) for margin in margins[:, place])
        return (place, 1, up) if up >= 0 else (place, -1, down)

    def _passed(self) -> None:
        self.left -= 1
        if self.settings.fresh:
            self._draw()


class OnlineSession(OneProcess):
    """Answers counting questions one by one, each chosen after seeing the answers before it.

    Opened by `PrivateMultiplicativeWeights.open`; its whole price is due then.  Safe to share between threads; it
    cannot be copied, pickled or carried into a forked process: every copy would test the same secret threshold.

    >>> import discreet as dc
    >>> from discreet.data import Boolean, Domain, Histogram
    >>> from discreet.release import PrivateMultiplicativeWeights
    >>> people = Histogram.random(Domain({"smokes": Boolean(), "runs": Boolean()}), n=100_000, seed=1)
    >>> weights = PrivateMultiplicativeWeights(people.domain, n=100_000, budget=dc.PureDP(1), queries=5)
    >>> session = weights.open(people)
    >>> answer = session.ask(dc.marginals(people.domain, 1)[0])
    >>> session.asked, session.queries
    (1, 5)
    """

    __slots__ = (
        "_gate",
        "_true",
        "asked",
        "distribution",
        "domain",
        "queries",
        "relation",
        "settings",
        "terms",
    )

    def __init__(
        self,
        histogram: Histogram,
        settings: Settings,
        *,
        queries: int,
        relation: type[Neighbours],
        terms: str = "",
        rng: RandomSource | None = None,
    ) -> None:
        self.terms = terms
        self.domain, self.settings, self.queries, self.relation = histogram.domain, settings, queries, relation
        self._true = histogram.counts.reshape(-1)
        self._gate = Gate(settings, rng=rng)
        self.distribution = Distribution(self._true)
        self.asked = 0

    @property
    def alpha(self) -> int:
        """The error of every later answer to a counting question, but with probability beta; times the span of others.

        That of the settings, and more once so many updates were given up by suspending that those left may not
        bring the histogram near the data.
        """
        settings = self.settings
        last = max(0.0, self.distribution.potential - 2 * settings.step**2 * self._gate.left)  # after all updates left
        far = min(1.0, math.sqrt(last / 2))
        return max(settings.alpha, math.ceil((settings.n + settings.off) * far + settings.off + 0.5))

    @property
    def queries_left(self) -> int:
        """How many questions may still be asked."""
        return self.queries - self.asked

    @property
    def updates(self) -> int:
        """How many answers came from the data so far."""
        return self.settings.updates - self._gate.left

    @property
    def updates_left(self) -> int:
        """How many answers may still come from the data; with none left all come from the histogram."""
        certain = 2 * self.settings.step**2
        return max(0, min(self._gate.left, math.floor(self.distribution.potential / certain)))

    @property
    def histogram(self) -> Histogram:
        """The public estimate, in counts."""
        weights = self.distribution.weights * (self.settings.n / self.distribution.mass)
        return Histogram(self.domain, weights)

    def estimate(self, query: Workload) -> float:
        """The answer of the public histogram: free, never refused, and without a bound on its error."""
        return self.settings.n * self.distribution.mean(self._one(query))

    def ask(self, query: Workload) -> float:
        """The answer to one question, in counts."""
        span_of = span(self._one(query), self.relation)
        with self._alone():
            self._refuse_when_done()
            self.asked += 1
            model = round(self.settings.n * self.distribution.mean(query))
            if span_of == 0 or not self.updates_left:
                return float(model)
            found = self._gate.test(int(query.apply(self._true)[0].item()) - model, span_of)
            if found is None:
                return float(model)
            return model + self.correct(query, span_of, *found)

    def suspend(self) -> Suspended:
        """End this session and return what is public of it, for `PrivateMultiplicativeWeights.resume`."""
        if not self.settings.fresh:
            raise UnsupportedError("all updates of this session share one secret threshold; it cannot be resumed")
        with self._alone():
            self._refuse_when_done()
            state = self.distribution
            ended = Suspended(
                weights=to_numpy(state.weights / state.mass), potential=state.potential, asked=self.asked,
                left=max(0, self._gate.left - 1), terms=self.terms, settings=self.settings,
            )  # fmt: skip
            self.asked, self._gate.left = self.queries, 0
        return ended

    def go_on(self, after: Suspended) -> None:
        """Take over the public side of a session suspended under the same terms, before anything was asked; once."""
        state = self.distribution
        same = after.terms == self.terms and after.settings == self.settings and self.settings.fresh
        within = 0 <= after.asked <= self.queries and 0 <= after.left < self.settings.updates
        fits = len(after.weights) == len(state.weights) and math.isfinite(after.potential)
        require(
            same and within and fits and self.asked == 0,
            "a session suspended under these parameters",
            after=repr(after),
        )
        after.take()
        state.weights = like(after.weights, state.weights)
        state.mass, state.potential = total(state.weights).item(), after.potential
        self.asked, self._gate.left = after.asked, after.left

    def pass_over(
        self, differences: npt.NDArray[np.int64], spans: npt.NDArray[np.int64]
    ) -> tuple[int, int, int] | None:
        """Test differences from the histogram in turn: (place, sign, margin) of the first beyond the threshold."""
        with self._alone():
            if not self.updates_left:
                raise BudgetExhausted(requested="another test", remaining="0 updates")
            return self._gate.first(differences, spans)

    def correct(self, query: Workload, span_of: int, sign: int, margin: int) -> float:
        """Move the distribution, and say by how much the answer is moved."""
        settings = self.settings
        certain = settings.gap + margin / span_of - 0.5 - settings.off
        self.distribution.move(query, span_of, sign * certain / (settings.n + settings.off))
        return sign * (margin + span_of * (settings.gap + (settings.above + settings.below) / 2))

    def _one(self, query: Workload) -> Workload:
        require(isinstance(query, Workload) and len(query) == 1, "one query, such as w[0]", query=type(query).__name__)
        same_domain(query.domain, self.domain)
        return query

    def _refuse_when_done(self) -> None:
        if self.asked >= self.queries:
            raise BudgetExhausted(requested="another answer", remaining=f"0 of {self.queries} questions")


def span(query: Workload, relation: type[Neighbours]) -> int:
    """How far one row moves the answer, and at least how far apart two values of the query are; 0 for a constant."""
    if not query.integral:
        raise UnsupportedError("multiplicative weights need queries with integer values; scale them and their answers")
    apart, moved = query.absolute(Replace), query.absolute(relation)
    if not apart and relation is Replace:
        return 0
    largest = query.absolute(AddRemove)
    if largest > LEANING * max(apart, Fraction(1)):
        raise UnsupportedError(NEARLY)
    return int(max(apart, moved))


def spans(low: npt.NDArray[np.int64], high: npt.NDArray[np.int64], relation: type[Neighbours]) -> npt.NDArray[np.int64]:
    """`span` of many queries at once, from the least and the largest value of each."""
    import numpy as np

    apart, largest = high - low, np.maximum(abs(low), abs(high))
    counts = (apart > 0) | (relation is not Replace)  # a constant has no span where a row is replaced
    if (counts & (largest > LEANING * np.maximum(apart, 1))).any():
        raise UnsupportedError(NEARLY)
    return apart if relation is Replace else np.maximum(apart, largest)
