"""The learners of the theory, the statistical-query oracle, noisy gradients and synthesizers."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from typing import Any

from discreet.curator.audits.case import Case, Cases, Many, Seen, Subject
from discreet.data.columns import Boolean, Integer
from discreet.data.domain import Domain
from discreet.data.records import Records
from discreet.hazmat.entropy import RandomSource
from discreet.learning.pac.amplified import Amplified
from discreet.learning.pac.boosted import BoostedLearner
from discreet.learning.pac.exponential import ExponentialLearner
from discreet.learning.pac.panel import best_of_panel
from discreet.learning.pac.parity import ParityLearner
from discreet.learning.pac.sampled import Sampled
from discreet.learning.pac.threshold import ThresholdLearner
from discreet.privacy.guarantee import GaussianDP, PureDP
from discreet.synthesis.linked import LinkedSynthesizer
from discreet.synthesis.synthesizer import Synthesizer

POINTS = 4
MANY = 64  # where a row is seen by one learner of several only: few hits by chance


def learner(make: Callable[[float], Any], look: Callable[[Any], object], points: int = POINTS) -> Cases:
    """A learner over so many points that is shown one example, at the last of them, or none."""

    def cases(epsilon: float) -> Iterator[Case]:
        made = make(epsilon)

        def fitted(count: int, rng: RandomSource | None) -> object:
            import numpy as np

            x = np.full(count, points - 1)
            return look(make(epsilon).fit(x, x < 2, rng=rng))

        yield Case(Seen(fitted, made.privacy()), (0, 1), slow=True)

    return cases


def thresholds(epsilon: float, points: int = POINTS) -> Any:  # noqa: ANN401 - a learner
    """Over so many points."""
    return ThresholdLearner(points, epsilon=epsilon)


def hypotheses() -> list[Callable[[Any], Any]]:
    """The thresholds, and their opposites."""
    up = [lambda x, t=t: x >= t for t in range(POINTS + 1)]
    return [*up, *(lambda x, t=t: x < t for t in range(POINTS + 1))]


def boosted(epsilon: float) -> Any:  # noqa: ANN401 - a learner
    """Two rounds."""
    return BoostedLearner(hypotheses(), budget=PureDP(epsilon), rounds=2, advantage=0.2)


def hypothesis(epsilon: float) -> Iterator[Case]:
    """A learner of listed hypotheses, and the choice of one from a panel, which is the same."""
    yield from learner(lambda e: ExponentialLearner(hypotheses(), epsilon=e), lambda m: m.index_)(epsilon)

    def chosen(count: int, rng: RandomSource | None) -> object:
        import numpy as np

        x = np.full(count, POINTS - 1)
        return best_of_panel(hypotheses(), x, x < 2, epsilon=epsilon, rng=rng).index_

    yield Case(Seen(chosen, ExponentialLearner(hypotheses(), epsilon=epsilon).privacy()), (0, 1), slow=True)


def parity(epsilon: float) -> Iterator[Case]:
    """Examples of two bits, with one that contradicts them and without."""
    made = ParityLearner(epsilon=epsilon, blocks=1)

    def look(count: int, rng: RandomSource | None) -> object:
        import numpy as np

        bits = np.array([[1, 0], [0, 1], *[[1, 1]] * count])
        labels = np.array([1, 0, *[0] * count])
        found = ParityLearner(epsilon=epsilon, blocks=1).fit(bits, labels, rng=rng).parity_
        return "none" if found is None else str(np.asarray(found).tolist())

    yield Case(Seen(look, made.privacy()), (0, 1), slow=True)


def oracle(epsilon: float) -> Iterator[Case]:
    """The fraction of two rows, of which one is replaced."""
    import numpy as np

    from discreet.learning.statistical.oracle import StatisticalQueryOracle
    from discreet.queries.statistical import RowFunction

    def look(last: int, rng: RandomSource | None) -> object:
        asked = StatisticalQueryOracle(np.array([[0], [last]]), queries=1, epsilon=epsilon, n=2, rng=rng)
        return float(asked.answer([RowFunction(lambda rows: rows[:, 0] > 0, low=0, high=1)])[0])

    claim = StatisticalQueryOracle(np.array([[0]]), queries=1, epsilon=epsilon, n=1).privacy()
    yield Case(Seen(look, claim), (0, 1), 0.5, slow=True)


def gradients(epsilon: float) -> Iterator[Case]:
    """One step of noisy gradients, seen by somebody who knows all rows but one; the claim is mu."""

    def look(value: int, count: int, rng: RandomSource | None) -> Any:  # noqa: ANN401 - an array
        import numpy as np
        import torch

        from discreet.learning.neural.noise import NoisySums
        from discreet.learning.neural.private_gradients import POINT, PrivateGradients

        run = PrivateGradients(noise_multiplier=1 / epsilon, rate=1, steps=1_000_000, parameters=8, block=8)
        total = torch.zeros(8, dtype=torch.int64)
        total[0] = value << POINT
        with NoisySums(run, device="cpu", rng=rng) as noisy:
            return np.array([float(noisy.release(total)[0]) for _ in range(count)])

    yield Case(Many(look, GaussianDP(epsilon)), (0, 1), 0.8)


@functools.cache
def table(rows: int) -> Records:
    """So many rows of a bit and a number."""
    import pyarrow as pa

    made = pa.table({"a": pa.array([True] * rows, pa.bool_()), "b": pa.array([2] * rows, pa.int64())})
    return Records.from_frame(made, Domain({"a": Boolean(), "b": Integer(0, 2)}))


def synthesizer(method: str, **settings: Any) -> Cases:  # noqa: ANN401 - as the synthesizer says
    """One row or none; what is seen are all answers of the model, and how many rows it says there are."""

    def cases(epsilon: float) -> Iterator[Case]:
        import numpy as np

        from discreet.queries.marginals import marginals

        made = Synthesizer(table(0).domain, budget=PureDP(epsilon), method=method, **settings)  # type: ignore[arg-type]
        asked = marginals(table(0).domain, 2)

        def look(count: int, rng: RandomSource | None) -> object:
            fitted = made.fit(table(count), rng=rng)
            return [float(fitted.rows), *np.ravel(fitted.answer(asked)).tolist()]

        yield Case(Seen(look, made.privacy()), (0, 1), slow=True)

    return cases


def linked(epsilon: float) -> Iterator[Case]:
    """A person with two visits, or nobody: what is drawn."""
    import pyarrow as pa

    domains = {"people": Domain({"a": Boolean()}), "visits": Domain({"b": Integer(0, 2)})}
    made = LinkedSynthesizer(domains, parent="people", rows_per_unit={"visits": 2}, budget=PureDP(epsilon))

    def look(count: int, rng: RandomSource | None) -> object:
        who = pa.array(range(count), pa.int64())
        people = pa.table({"who": who, "a": pa.array([True] * count, pa.bool_())})
        twice = pa.array([*range(count)] * 2, pa.int64())
        visits = pa.table({"who": twice, "b": pa.array([2] * (2 * count), pa.int64())})
        drawn = made.fit({"people": people, "visits": visits}, unit="who", rng=rng).sample(8, rng=rng)
        return [sum(drawn["people"]["a"].to_pylist()), drawn["visits"].num_rows, sum(drawn["visits"]["b"].to_pylist())]

    yield Case(Seen(look, made.privacy()), (0, 1), slow=True)


def _subject(name: str, cases: Cases, twin: float, slow: int, **more: Any) -> Subject:  # noqa: ANN401 - names
    return Subject(name=name, room=more.pop("room", "learning"), cases=cases, twin=twin, slow=slow, **more)


SUBJECTS = (
    _subject("ThresholdLearner", learner(thresholds, lambda m: m.threshold_), 10, 1000, replays=1),
    _subject("ExponentialLearner", hypothesis, 10, 1000, covers=("best_of_panel",), replays=1),
    _subject("Sampled", learner(lambda e: Sampled(thresholds(e + 0.2), epsilon=e), lambda m: m.learner_.threshold_),
             10, 2000),
    _subject("Amplified", learner(lambda e: Amplified(thresholds(e, MANY), blocks=2, epsilon=e),
                                  lambda m: m.best_.threshold_, MANY), 100, 2000),
    _subject("BoostedLearner", learner(boosted, lambda m: list(m.indices_)), 200, 1000, replays=1),
    _subject("ParityLearner", parity, 4, 1000, replays=1),
    _subject("StatisticalQueryOracle", oracle, 3, 1000, covers=("StatisticalNoise",), replays=1),
    _subject("PrivateGradients", gradients, 1.5, 400, samples=5000, needs="torch"),
    _subject("Synthesizer", synthesizer("independent"), 20, 300, room="synthesis", replays=1),
    _subject("Synthesizer, tree", synthesizer("tree"), 20, 300, room="synthesis", replays=1),
    _subject("Synthesizer, adaptive", synthesizer("adaptive", rounds=1), 20, 400, room="synthesis", replays=1),
    _subject("Synthesizer, mwem", synthesizer("mwem", rounds=1), 50, 300, room="synthesis", replays=1),
    _subject("LinkedSynthesizer", linked, 100, 300, room="synthesis", replays=2),
)  # fmt: skip
