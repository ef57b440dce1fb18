"""The protocols of the local model: every report of every value, and what clients really send.

Where the law is finite all pairs of values are enumerated in rationals; the sampled half audits the code that draws.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from discreet.curator.audits.case import Case, Many, Seen, Subject
from discreet.curator.audits.tables import pair
from discreet.hazmat.entropy import RandomSource
from discreet.local.duchi import DuchiVector
from discreet.local.factorization import LocalFactorization
from discreet.local.hadamard import HadamardResponse
from discreet.local.hashing import OptimalLocalHashing
from discreet.local.heavy_hitters import HeavyHitters
from discreet.local.hierarchy import HierarchicalRanges
from discreet.local.laplace_mean import LaplaceMean
from discreet.local.memoised import Memoised
from discreet.local.one_bit import OneBitMean
from discreet.local.piecewise import HybridMean, PiecewiseMean
from discreet.local.privunit import PrivUnit, PrivUnitG
from discreet.local.projective import ProjectiveGeometryResponse
from discreet.local.protocol import LocalProtocol
from discreet.local.randomized_response import RandomizedResponse
from discreet.local.rounds import Question, Rounds
from discreet.local.sampled_thresholds import SampledThresholds
from discreet.local.shuffle import Shuffler
from discreet.local.statistical_oracle import LocalStatisticalOracle
from discreet.local.subset_selection import SubsetSelection
from discreet.local.unary import OptimalUnaryEncoding, SymmetricUnaryEncoding
from discreet.queries.ordered import thresholds
from discreet.queries.statistical import RowFunction

if TYPE_CHECKING:
    from discreet.curator.audits.case import Array, Cases

SIZE = 4


def reports(protocol: LocalProtocol) -> Many:
    """What clients send, as numbers: a code, or the words of a mask or of a vector."""

    def look(value: object, count: int, rng: RandomSource | None) -> Array:
        import numpy as np

        values = np.full(count, value) if np.ndim(value) == 0 else np.tile(np.asarray(value), (count, 1))  # type: ignore[arg-type]
        sent = np.asarray(protocol.client().report(values, rng=rng))
        return sent.view(np.int64) if sent.dtype == np.uint64 else sent

    return Many(look, protocol.privacy())


def enumerated(make: Callable[[float], LocalProtocol], ends: tuple[Any, Any], share: float = 0.8) -> Cases:
    """A protocol whose law is finite."""

    def cases(epsilon: float) -> Iterator[Case]:
        protocol = make(epsilon)
        yield Case(reports(protocol), ends, share, table=protocol.table)

    return cases


def drawn(make: Callable[[float], LocalProtocol], ends: tuple[Any, Any], share: float = 0.0) -> Cases:
    """A protocol whose reports are too many to list."""

    def cases(epsilon: float) -> Iterator[Case]:
        yield Case(reports(make(epsilon)), ends, share)

    return cases


def means(make: Callable[[float], LocalProtocol]) -> Cases:
    """A mean of numbers in [-1, 1], whose law is finite once the lattice is coarse."""

    def cases(epsilon: float) -> Iterator[Case]:
        protocol = make(epsilon)
        yield Case(reports(protocol), (-1.0, 1.0), 0.8, table=lambda: protocol.table([-1, 0, 1]))

    return cases


def heavy_hitters(epsilon: float) -> Iterator[Case]:
    """The report of a user who holds one string of four bits or another; and what is said of three users."""
    import numpy as np

    protocol = HeavyHitters(bits=4, epsilon=epsilon)
    level = protocol.question(0)
    first, second = level.place(np.array([3, 12], dtype=np.uint64), protocol.bits).tolist()
    sent = reports(protocol.oracle(level))
    yield Case(Many(sent.look, protocol.privacy()), (first, second), 0.8, table=protocol.oracle(level).table)

    whole = HeavyHitters(bits=4, epsilon=epsilon, beta=0.5)  # so that three users say something

    def look(value: int, rng: RandomSource | None) -> object:
        return whole(np.array([value, 3, 3], dtype=np.uint64), rng=rng)

    yield Case(Seen(look, whole.privacy()), (3, 12), slow=True)


def memoised(epsilon: float) -> Iterator[Case]:
    """One report, and two of one device in one period: exactly, over its memory."""
    import numpy as np

    protocol = Memoised(RandomizedResponse(epsilon=epsilon, size=SIZE), instant=4 * epsilon)
    yield Case(reports(protocol), (0, SIZE - 1), table=protocol.table)

    def look(value: int, count: int, rng: RandomSource | None) -> Array:
        devices = protocol.devices(rng=rng)
        devices.begin(np.full(count, value))
        return np.stack([devices.report(), devices.report()], axis=1)

    def law(value: int) -> dict[tuple[int, int], Fraction]:
        kept, told = protocol.protocol.law(value), {code: protocol.teller.law(code) for code in range(SIZE)}
        pairs = [(a, b) for a in range(SIZE) for b in range(SIZE)]
        return {(a, b): sum((kept[c] * told[c][a] * told[c][b] for c in kept), Fraction(0)) for a, b in pairs}

    both = Many(look, protocol.lifetime())
    yield Case(both, (0, SIZE - 1), table=lambda: pair(law(0), law(SIZE - 1)))


def rounds(epsilon: float) -> Iterator[Case]:
    """One user who is asked twice, at half of the price each."""

    def look(value: float, rng: RandomSource | None) -> object:
        import numpy as np

        asked = Rounds(np.array([value]), cap=epsilon, interaction="full")
        question = Question(OneBitMean(epsilon=epsilon / 2), range(1))
        return [float(asked.ask([question], rng=rng)[0].estimate()) for _ in range(2)]

    claim = Rounds([0.0], cap=epsilon, interaction="full").ledger.privacy()
    yield Case(Seen(look, claim), (-1.0, 1.0), 0.3, slow=True)


def oracle(epsilon: float) -> Iterator[Case]:
    """One user and one query."""

    def answer(value: int, rng: RandomSource | None) -> object:
        import numpy as np

        asked = LocalStatisticalOracle(np.array([[value]]), queries=1, epsilon=epsilon, rng=rng)
        return float(asked.answer([RowFunction(lambda rows: rows[:, 0] > 0, low=0, high=1)])[0])

    import numpy as np

    claim = LocalStatisticalOracle(np.array([[0]]), queries=1, epsilon=epsilon).privacy()
    yield Case(Seen(answer, claim), (0, 1), 0.3, slow=True)


def shuffled(epsilon: float) -> Iterator[Case]:
    """40 reports of one bit, of which one changes: how many ones there are, and all of them as they are handed over."""
    n, delta = 40, 0.01
    protocol = RandomizedResponse(epsilon=epsilon, size=2)
    claim = Shuffler(protocol, n=n).privacy(delta=delta)

    def sent(value: int, count: int, rng: RandomSource | None) -> Array:
        import numpy as np

        values = np.zeros((count, n), dtype=np.int64)
        values[:, 0] = value
        return np.asarray(protocol.client().report(values.reshape(-1), rng=rng)).reshape(count, n)

    def ones(value: int, count: int, rng: RandomSource | None) -> Array:
        return sent(value, count, rng).sum(axis=1)

    def order(value: int, rng: RandomSource | None) -> object:
        shuffler = Shuffler(protocol, n=n)
        shuffler.add(sent(value, 1, rng)[0])
        return shuffler.release(rng=rng).tolist()

    def law(value: int) -> dict[int, Fraction]:
        truth, others = protocol.truth, {0: Fraction(1)}
        for _ in range(n - 1):
            others = added(others, 1 - truth)
        return added(others, truth if value else 1 - truth)

    yield Case(Many(ones, claim), (0, 1), delta=delta, table=lambda: pair(law(0), law(1)))
    yield Case(Seen(order, claim), (0, 1), delta=delta, slow=True)


def added(law: dict[int, Fraction], chance: Fraction) -> dict[int, Fraction]:
    """The law of a count with one more coin of this chance.

    >>> added({0: Fraction(1)}, Fraction(1, 4))
    {0: Fraction(3, 4), 1: Fraction(1, 4)}
    """
    none = Fraction(0)
    return {k: law.get(k, none) * (1 - chance) + law.get(k - 1, none) * chance for k in range(len(law) + 1)}


def _subject(name: str, cases: Cases, twin: float = 1.25, **more: Any) -> Subject:  # noqa: ANN401 - counts and names
    return Subject(name=name, room="local", cases=cases, twin=twin, **more)


def _mean(kind: Callable[..., LocalProtocol], **more: int) -> Cases:
    return means(lambda e: kind(epsilon=e, **more))


def _oracle(kind: Callable[..., LocalProtocol]) -> Cases:
    return enumerated(lambda e: kind(epsilon=e, size=SIZE), (0, SIZE - 1))


def _vector(kind: Callable[..., LocalProtocol]) -> Cases:
    return drawn(lambda e: kind(epsilon=e, dimension=2), ((1.0, 0.0), (-1.0, 0.0)))


SUBJECTS = (
    _subject("RandomizedResponse", _oracle(RandomizedResponse)),
    _subject("OptimalLocalHashing", _oracle(OptimalLocalHashing)),
    _subject("HadamardResponse", _oracle(HadamardResponse)),
    _subject("ProjectiveGeometryResponse", _oracle(ProjectiveGeometryResponse)),
    _subject("SymmetricUnaryEncoding", _oracle(SymmetricUnaryEncoding)),
    _subject("OptimalUnaryEncoding", _oracle(OptimalUnaryEncoding)),
    _subject("SubsetSelection", _oracle(SubsetSelection)),
    _subject("OneBitMean", _mean(OneBitMean)),
    _subject("PiecewiseMean", _mean(PiecewiseMean, slots=12)),
    _subject("HybridMean", _mean(HybridMean, slots=9)),
    _subject("LaplaceMean", drawn(lambda e: LaplaceMean(epsilon=e), (-1.0, 1.0), 0.8)),
    _subject("DuchiVector", _vector(DuchiVector)),
    _subject("PrivUnit", _vector(PrivUnit)),
    _subject("PrivUnitG", _vector(PrivUnitG)),
    _subject("HierarchicalRanges", _oracle(HierarchicalRanges)),
    _subject("SampledThresholds", _oracle(SampledThresholds)),
    _subject("LocalFactorization", drawn(lambda e: LocalFactorization(thresholds(SIZE), epsilon=e), (0, SIZE - 1))),
    _subject("Memoised", memoised, covers=("Devices",)),
    _subject("HeavyHitters", heavy_hitters),
    _subject("Rounds", rounds, 3, covers=("LocalLedger", "run")),
    _subject("LocalStatisticalOracle", oracle, 2),
    _subject("Shuffler", shuffled, 4, slow=4000),
)
