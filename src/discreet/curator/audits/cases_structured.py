"""The mechanisms of `discreet.structured`: prefixes, tables, parities, quantiles, medians and streams."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from discreet.curator.audits.case import Case, Cases, Seen, Subject
from discreet.curator.audits.cases_release import ADDED, BITS, ROWS, answers, columns
from discreet.curator.audits.tables import pair
from discreet.hazmat.entropy import RandomSource
from discreet.privacy.finite import FiniteMechanism
from discreet.privacy.guarantee import ZCDP, Guarantee, PureDP
from discreet.privacy.neighbours import Replace
from discreet.queries.ordered import thresholds
from discreet.queries.products import parities
from discreet.structured.conjunctions.chebyshev import ChebyshevConjunctions
from discreet.structured.graphs.ladder import Ladder
from discreet.structured.graphs.noisy_local import NoisyLocal, SensitivityBound
from discreet.structured.marginals.marginal_release import MarginalRelease
from discreet.structured.medians.sample_and_aggregate import SampleAndAggregate
from discreet.structured.medians.smooth_median import SmoothMedian
from discreet.structured.medians.stable_median import StableMedian
from discreet.structured.parities.parity_projection import ParityProjection
from discreet.structured.parities.parity_projection_boosted import boosted_parities
from discreet.structured.parities.parity_projection_release import ProjectedParities
from discreet.structured.prefixes.prefix_tree import PrefixTree
from discreet.structured.quantiles.private_quantile import PrivateQuantile
from discreet.structured.quantiles.quantile_grid import GridQuantile
from discreet.structured.quantiles.quantile_grid_many import GridQuantiles
from discreet.structured.streams.continual import ContinualCounter

DELTA = 0.01  # can be seen with a few thousand releases
BEFORE, AFTER = (0, 2, 0, 2, 0), (0, 3, 0, 2, 0)  # rows at each of five values
NUMBERS = ((0, 0, 10, 10), (0, 10, 10))


def called(mechanism: Any, share: float = 0.0, *, inputs: tuple[Any, Any], delta: float = 0.0) -> Case:  # noqa: ANN401 - any mechanism
    """A mechanism that is called on its data, one release at a time."""
    return Case(
        Seen(lambda value, rng: mechanism(value, rng=rng), mechanism.privacy()), inputs, share, delta, slow=True
    )


def prefix_tree(epsilon: float) -> Iterator[Case]:
    """A row at the first of four values."""
    tree = PrefixTree(thresholds(4), budget=PureDP(epsilon))
    yield Case(answers(tree, thresholds(4).domain), ADDED, slow=True)


def marginal_release(epsilon: float) -> Iterator[Case]:
    """Both columns, with Gaussian noise."""
    made = MarginalRelease(columns(), budget=ZCDP(epsilon**2 / 2))
    yield Case(answers(made, BITS), ADDED, delta=DELTA, slow=True)


def projected_parities(epsilon: float) -> Iterator[Case]:
    """The one parity of two bits."""
    yield Case(answers(ProjectedParities(parities(BITS, 2), budget=PureDP(epsilon)), BITS), ADDED, slow=True)


def all_pairs(epsilon: float) -> Iterator[Case]:
    """Parities of pairs of three bits by boosting, of which one row is replaced."""
    made = boosted_parities(3, n=ROWS, budget=PureDP(epsilon), sample=2, error=5, advantage=0.4)
    domain = made.workload.domain
    before = [ROWS, *[0] * 7]
    after = [ROWS - 1, 0, 0, 0, 1, 0, 0, 0]  # another first bit, and so two other parities
    yield Case(answers(made, domain), (tuple(before), tuple(after)), slow=True)


def parity_projection(epsilon: float) -> Iterator[Case]:
    """Four rows of which one is replaced."""
    made = ParityProjection(d=3, n=4, budget=PureDP(epsilon))

    def look(sign: int, rng: RandomSource | None) -> object:
        import numpy as np

        rows = np.ones((4, 3), dtype=np.int64)
        rows[0, 0] = sign
        return made(rows, rng=rng).answers.tolist()

    yield Case(Seen(look, made.privacy()), (1, -1), slow=True)


def conjunctions(epsilon: float) -> Iterator[Case]:
    """Counts of two conjunctions of three bits, with one row and without."""
    made = ChebyshevConjunctions(d=3, t=2, alpha=0.2, budget=PureDP(epsilon))

    def look(rows: int, rng: RandomSource | None) -> object:
        import numpy as np

        summary = made(np.ones((rows, 3), dtype=bool), rng=rng)
        return [summary.answer({0: True}), summary.answer({1: True, 2: True})]

    yield Case(Seen(look, made.privacy()), (0, 1), slow=True)


def continual(make: Callable[[float], Guarantee], delta: float) -> Cases:
    """A stream of four steps whose first counts, or not."""

    def cases(epsilon: float) -> Iterator[Case]:
        budget = make(epsilon)

        def look(first: int, rng: RandomSource | None) -> object:
            counter = ContinualCounter(horizon=4, upper=1, budget=budget, rng=rng)
            return [float(value) for value in counter.add_many([first, 0, 0, 0])]

        claim = ContinualCounter(horizon=4, upper=1, budget=budget).privacy()
        yield Case(Seen(look, claim), (0, 1), delta=delta, slow=True)

    return cases


def grid_quantile(epsilon: float) -> Iterator[Case]:
    """The median of rows at five values; its law is known."""
    median = GridQuantile(quantile=0.5, epsilon=epsilon, size=5)

    def table() -> FiniteMechanism:
        laws = [dict(enumerate(median.probabilities(list(counts)).tolist())) for counts in (BEFORE, AFTER)]
        return pair(laws[0], laws[1])

    yield Case(median, (BEFORE, AFTER), table=table)


def grid_quantiles(epsilon: float) -> Iterator[Case]:
    """Two quantiles of rows at five values."""
    both = GridQuantiles([0.25, 0.75], epsilon=epsilon, size=5)
    yield called(both, inputs=(BEFORE, AFTER))


def private_quantile(epsilon: float) -> Iterator[Case]:
    """The median of numbers at the ends."""
    median = PrivateQuantile([0.5], epsilon=epsilon, lower=0, upper=10, step=1)
    yield called(median, inputs=NUMBERS)


def smooth_median(epsilon: float) -> Iterator[Case]:
    """The median of numbers at the ends, where it is least stable."""
    yield Case(SmoothMedian(epsilon=epsilon, lower=0, upper=10, step=1), NUMBERS)


def stable_median(epsilon: float) -> Iterator[Case]:
    """Equal numbers, just as many as the test of stability asks for; and numbers at the ends, never stable."""
    median = StableMedian(epsilon=epsilon, delta=DELTA, bound=1, lower=0, upper=10, step=1)

    def look(values: tuple[int, ...], rng: RandomSource | None) -> object:
        return median([float(value) for value in values], rng=rng)

    for rows in (round(8 / epsilon), round(16 / epsilon)):
        yield Case(Seen(look, median.privacy()), ((5,) * rows, (5,) * (rows + 1)), delta=DELTA, slow=True)
    yield Case(Seen(look, median.privacy()), NUMBERS, delta=DELTA, slow=True)


def sample_and_aggregate(epsilon: float) -> Iterator[Case]:
    """The mean in three blocks, of which one goes from end to end."""
    median = SmoothMedian(epsilon=epsilon, lower=0, upper=10, step=1, neighbours=Replace)
    made = SampleAndAggregate(statistic=lambda part: float(sum(part) / max(1, len(part))), blocks=3, aggregate=median)

    def look(last: float, rng: RandomSource | None) -> object:
        import numpy as np

        return made(np.array([0.0, 10.0, last]), rng=rng)

    yield Case(Seen(look, made.privacy()), (0.0, 10.0), slow=True)


def ladder(epsilon: float) -> Iterator[Case]:
    """A value that moves by as much as the first rung, whose rungs move with it."""
    made = Ladder(epsilon=epsilon)

    def look(value: tuple[int, int], rng: RandomSource | None) -> object:
        at, first = value
        return made(at, lambda t: min(first + t, 8), most=8, rng=rng)

    yield Case(Seen(look, made.privacy()), ((10, 1), (11, 2)), slow=True)


def noisy_local(epsilon: float) -> Iterator[Case]:
    """A value that moves by its local sensitivity, which moves by one."""
    made = NoisyLocal(epsilon=epsilon, delta=DELTA)

    def look(value: tuple[int, int], rng: RandomSource | None) -> object:
        return made(value[0], local=value[1], most=40, rng=rng)

    yield Case(Seen(look, made.privacy()), ((10, 3), (13, 4)), delta=DELTA, slow=True)


def sensitivity_bound(epsilon: float) -> Iterator[Case]:
    """A local sensitivity that moves by one."""
    made = SensitivityBound(epsilon=epsilon, delta=DELTA)
    yield Case(Seen(lambda local, rng: made(local, most=40, rng=rng), made.privacy()), (3, 4), 0.5, slow=True)


def _subject(name: str, cases: Cases, twin: float, **more: Any) -> Subject:  # noqa: ANN401 - counts and names
    return Subject(name=name, room="structured", cases=cases, twin=twin, replays=1, **more)


SUBJECTS = (
    _subject("PrefixTree", prefix_tree, 3, slow=4000),
    _subject("MarginalRelease", marginal_release, 10, slow=2000),
    _subject("ProjectedParities", projected_parities, 5),
    _subject("ParityProjection", parity_projection, 10, slow=2000),
    _subject("boosted_parities", all_pairs, 500, slow=500),
    _subject("ChebyshevConjunctions", conjunctions, 5, slow=2000),
    _subject("ContinualCounter", continual(PureDP, 0.0), 3, slow=4000),
    _subject("ContinualCounter, Gaussian", continual(lambda e: ZCDP(e**2 / 2), DELTA), 5, slow=2000),
    _subject("GridQuantile", grid_quantile, 3),
    _subject("GridQuantiles", grid_quantiles, 10, slow=2000),
    _subject("PrivateQuantile", private_quantile, 5, slow=2000),
    _subject("SmoothMedian", smooth_median, 5, samples=20_000),
    _subject("StableMedian", stable_median, 5, slow=4000),
    _subject("SampleAndAggregate", sample_and_aggregate, 5, slow=4000),
    _subject("Ladder", ladder, 3, slow=2000),
    _subject("NoisyLocal", noisy_local, 5, slow=4000),
    _subject("SensitivityBound", sensitivity_bound, 2, slow=4000),
)
