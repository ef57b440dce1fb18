"""Which protocol for which task: every candidate with its predicted error, its bits and its time; the best first.

    frequency   fractions of the users that hold each of `size` values    error: of one rare value
    mean        the mean of numbers in [-1, 1]                            error: for the worst data
    vector      the mean of vectors of `size` coordinates in the unit ball   error: the root mean squared distance
    cdf         fractions that hold at most each of `size` ordered values    error: of the worst of them

The error is the root of the predicted variance, which the tests compare with what is measured.  A choice sees public
facts only: the task, epsilon, the size and n.  For a cdf the prediction is for the worst data, but that of the
hierarchy for values that are spread evenly.  Errors within one percent count as equal, and then fewer bits win.
The predictions: docs/theory/frequency_oracles.md, docs/theory/local_means.md and docs/theory/local_factorization.md.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

from discreet.errors import UnsupportedError, require
from discreet.local.coins import positive, whole
from discreet.local.duchi import DuchiVector
from discreet.local.factorization import LocalFactorization
from discreet.local.hadamard import HadamardResponse
from discreet.local.hashing import OptimalLocalHashing
from discreet.local.hierarchy import HierarchicalRanges
from discreet.local.laplace_mean import LaplaceMean
from discreet.local.one_bit import OneBitMean
from discreet.local.piecewise import HybridMean, PiecewiseMean
from discreet.local.privunit import PrivUnit, PrivUnitG
from discreet.local.projective import ProjectiveGeometryResponse
from discreet.local.protocol import LocalProtocol
from discreet.local.randomized_response import RandomizedResponse
from discreet.local.sampled_thresholds import SampledThresholds
from discreet.local.subset_selection import SubsetSelection
from discreet.local.unary import OptimalUnaryEncoding, SymmetricUnaryEncoding
from discreet.privacy.number import Number
from discreet.queries.ordered import thresholds

Task = Literal["frequency", "mean", "vector", "cdf"]
EQUAL = 0.01  # relative difference of errors that does not matter
LARGEST_MASK = 1 << 16  # a report of more bits than that is not proposed
COORDINATE = 32  # bits
HEADER = ("protocol", "error", "bits a report", "seconds")


@dataclass(frozen=True, kw_only=True, slots=True)
class Candidate:
    """One protocol, what it would do, and roughly how long clients and server take on one core.

    >>> choose("mean", epsilon=1, n=100).candidates[0].name
    'HybridMean'
    """

    protocol: LocalProtocol
    error: float
    bits: int
    seconds: float

    @property
    def name(self) -> str:
        """The class."""
        return type(self.protocol).__name__


@dataclass(frozen=True, kw_only=True, slots=True)
class Choice:
    """The candidates, the chosen one first, and why others are out.

    >>> print(choose("mean", epsilon=1, n=10_000))
    mean, epsilon = 1, n = 10,000
    <BLANKLINE>
       protocol        error  bits a report  seconds
    -> HybridMean     0.0207             17   0.0015
       OneBitMean     0.0216              1   0.0015
       PiecewiseMean  0.0229             16   0.0015
       LaplaceMean    0.0283             64   0.0015
    <BLANKLINE>
       the least predicted error
    """

    task: str
    epsilon: Number
    size: int
    n: int
    candidates: tuple[Candidate, ...]
    refused: tuple[tuple[str, str], ...] = ()

    @property
    def protocol(self) -> LocalProtocol:
        """The chosen protocol."""
        return self.candidates[0].protocol

    def __str__(self) -> str:
        rows = [HEADER]
        rows += [(c.name, f"{c.error:.3g}", f"{c.bits:,}", f"{c.seconds:.2g}") for c in self.candidates]
        widths = [max(len(row[i]) for row in rows) for i in range(len(HEADER))]
        about = f" of {self.size:,} {'coordinates' if self.task == 'vector' else 'values'}"
        lines = [f"{self.task}{'' if self.task == 'mean' else about}, epsilon = {self.epsilon}, n = {self.n:,}", ""]
        for number, row in enumerate(rows):
            cells = "  ".join(f"{cell:>{width}}" for cell, width in zip(row[1:], widths[1:], strict=True))
            lines.append(f"{'->' if number == 1 else '  '} {row[0]:<{widths[0]}}  {cells}")
        lines += ["", f"   {self._why()}"]
        lines += [f"   not {name}: {reason}" for name, reason in self.refused]
        return "\n".join(lines)

    __repr__ = __str__

    def _why(self) -> str:
        best, least = self.candidates[0], min(c.error for c in self.candidates)
        if best.error == least:
            return "the least predicted error"
        return f"within {EQUAL:.0%} of the least predicted error, and the fewest bits of those"


def choose(task: Task, *, epsilon: Number, n: int, size: int = 1) -> Choice:
    """All protocols for the task, the best first; print it for the table.

    >>> best = choose("frequency", epsilon=1.0, size=1024, n=1_000_000)
    >>> best.protocol
    ProjectiveGeometryResponse(epsilon=1.0, size=1024)
    >>> choose("frequency", epsilon=1.0, size=3, n=1_000_000).protocol
    RandomizedResponse(epsilon=1.0, size=3)
    >>> choose("mean", epsilon=0.5, n=1000).protocol.bits
    1
    >>> choose("cdf", epsilon=1.0, size=1024, n=1000).protocol
    SampledThresholds(epsilon=1.0, size=1024)
    """
    known = task in ("frequency", "mean", "vector", "cdf")
    require(known, "a task 'frequency', 'mean', 'vector' or 'cdf'", task=task)
    positive(epsilon)
    whole("n", n, least=1)
    whole("size", size, least=1 if task == "mean" else 2)
    made, refused = _candidates(task, epsilon, size)
    found = [Candidate(protocol=p, error=math.sqrt(p.variance(n)), bits=p.bits, seconds=_seconds(p, n)) for p in made]
    least = min(c.error for c in found)
    found.sort(key=lambda c: (c.error > least * (1 + EQUAL), c.bits if c.error <= least * (1 + EQUAL) else 0, c.error))
    return Choice(task=task, epsilon=epsilon, size=size, n=n, candidates=tuple(found), refused=tuple(refused))


def _candidates(task: Task, epsilon: Number, size: int) -> tuple[list[LocalProtocol], list[tuple[str, str]]]:
    if task == "mean":
        return [kind(epsilon=epsilon) for kind in (OneBitMean, LaplaceMean, PiecewiseMean, HybridMean)], []
    if task == "vector":
        return [kind(epsilon=epsilon, dimension=size) for kind in (DuchiVector, PrivUnit, PrivUnitG)], []
    if task == "cdf":
        return _running(epsilon, size)
    made: list[LocalProtocol] = [kind(epsilon=epsilon, size=size) for kind in (RandomizedResponse, HadamardResponse)]
    refused: list[tuple[str, str]] = []
    for kind in (OptimalUnaryEncoding, SymmetricUnaryEncoding, SubsetSelection):
        if size <= LARGEST_MASK:
            made.append(kind(epsilon=epsilon, size=size))
        else:
            refused.append((kind.__name__, f"a report would take {size:,} bits"))
    for kind in (ProjectiveGeometryResponse, OptimalLocalHashing):
        try:
            protocol = kind(epsilon=epsilon, size=size)
            protocol.variance(1)
            made.append(protocol)
        except UnsupportedError as error:
            refused.append((kind.__name__, str(error)))
    return made, refused


def _running(epsilon: Number, size: int) -> tuple[list[LocalProtocol], list[tuple[str, str]]]:
    made: list[LocalProtocol] = [kind(epsilon=epsilon, size=size) for kind in (SampledThresholds, HierarchicalRanges)]
    bits = COORDINATE * (size - 1)
    if bits > LARGEST_MASK:
        return made, [(LocalFactorization.__name__, f"a report would take {bits:,} bits")]
    return [*made, LocalFactorization(thresholds(size), epsilon=epsilon, randomizer="privunit")], []


def _seconds(protocol: LocalProtocol, n: int) -> float:
    """A rough time on one core of 2024: measured once for n = 10^6 and 1,024 values, scaled by bits and cells."""
    if isinstance(protocol, (OptimalUnaryEncoding, SymmetricUnaryEncoding, SubsetSelection)):
        return 1e-9 * n * protocol.size
    if isinstance(protocol, (DuchiVector, PrivUnit, PrivUnitG)):
        return 5e-8 * n * protocol.dimension
    if isinstance(protocol, LocalFactorization):
        return 5e-8 * n * protocol.factors.dimension
    return 1.5e-7 * n + 1e-7 * protocol.cells
