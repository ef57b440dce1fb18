"""The table of interval queries: how wrong all thresholds on 2^d values must be, and how wrong they are here.

    pure           plain binary tree   sd sqrt(2 d) (d + 1) / epsilon
                   best tree here      the exact variance of `PrefixTree`
                   packing             every pure mechanism, from the notes: (ceil((d - 1) ln 2 / (2 epsilon)) - 1) / 2
                   one median          rank error of the exponential mechanism, (2 / epsilon) ln(2^d / beta)
    approximate    plain binary tree   sd sqrt(d (d + 1)) sigma1
                   square root         sd sigma1 sum of f_k^2, f_k = C(2k, k) / 4^k
                   gamma_2             the least sd of all factorizations with continuous Gaussian noise: between two
                                       numbers

in counts, for the worst threshold, where one row is added or removed (packing: replaced); sigma1 is the least sigma of
Gaussian noise for (epsilon, delta) at sensitivity 1.  The bounds with log* of the notes are shapes, and lose to all of
these for every size of data that fits on a disk.  Theory: docs/theory/prefix.md.
"""

from __future__ import annotations

import math
from functools import lru_cache

from discreet.bounds.packing import Packing, packing_bound
from discreet.bounds.table import BoundsTable, Entry, representable
from discreet.errors import require
from discreet.mechanisms.gaussian_sigma import analytic_sigma
from discreet.privacy.guarantee import PureDP
from discreet.privacy.neighbours import Replace
from discreet.privacy.number import Number, exact
from discreet.release.gamma2_closed import thresholds_bound
from discreet.structured.prefixes.prefix_levels import best_levels
from discreet.structured.quantiles.quantile_grid import GridQuantile
from discreet.structured.streams.toeplitz import SquareRoot

GAMMA2 = {  # of the triangle of ones, from below and above: certified by the solver of discreet.release.gamma2
    1: (1.0, 1.0),
    2: (1.154700, 1.154701),
    4: (1.326122, 1.326124),
    8: (1.510483, 1.510485),
    16: (1.704480, 1.704482),
    32: (1.90544, 1.90546),
    64: (2.11136, 2.11138),
    128: (2.32079, 2.32081),
    256: (2.53271, 2.53273),
    512: (2.7464, 2.7467),
    1024: (2.9614, 2.9621),
}
EULER = 0.5772156649015329
SUMMED = 1 << 22  # beyond, the sum of squares is its expansion, whose error is below 1 / N
BELOW = 1 - 1e-9  # lower bounds are rounded down: by more than the errors of sigma1 and of an expansion
LEAST = "no factorization with continuous Gaussian noise is better"


def interval_table(d: int, epsilon: Number, delta: Number, *, n: int | None = None) -> BoundsTable:
    """Errors of all thresholds on 2^d ordered values, in counts; with n, the shapes too.

    >>> table = interval_table(10, 1.0, 1e-6)
    >>> [table[f"{kind} tree"].shown for kind in ("pure: binary", "pure: best", "Gaussian: binary")]
    ['49.19', '13.75', '44.31']
    """
    require(isinstance(d, int) and not isinstance(d, bool) and 1 <= d <= 60, "an integer d from 1 to 60", d=d)
    require(n is None or (isinstance(n, int) and not isinstance(n, bool) and n >= 1), "an integer n >= 1", n=n)
    require(exact(epsilon) > 0, "epsilon > 0", epsilon=epsilon)
    require(0 < exact(delta) < 1, "0 < delta < 1", delta=delta)
    representable(epsilon=epsilon, n=n)
    return BoundsTable(
        f"All thresholds on 2^{d} values, epsilon {epsilon}, delta {delta}: error of the worst, in counts",
        (*_pure(d, epsilon, n), *_approximate(d, epsilon, delta, n)),
    )


def _pure(d: int, epsilon: Number, n: int | None) -> list[Entry]:
    rate = float(exact(epsilon))
    shape = None if n is None else (d + math.log(n) ** 2) / rate
    tree = best_levels(1 << d, pure=True, known=False, consistent=True)
    spread = tree.largest(1 << d)
    packed = (math.ceil((d - 1) * math.log(2) / (2 * rate)) - 1) / 2
    ours = packing_bound(Packing.points(1 << d, Replace), budget=PureDP(epsilon), n=10**9).value
    tall = "x".join(str(radix) for radix in tree.radices)
    return [
        _exact(
            "pure: binary tree",
            "sd sqrt(2 d) (d + 1) / epsilon",
            math.sqrt(2 * d) * (d + 1) / rate,
            "not consistent",
        ),
        _exact(
            "pure: best tree",
            "sd, exact",
            math.sqrt(2 * spread) * tree.measured / rate,
            f"PrefixTree, branching {tall}",
        ),
        _shape("pure: state of the art", "(d + log^2 n) / epsilon", shape, "Dwork, Naor, Reingold, Rothblum 2015"),
        _exact(
            "pure: packing of the notes",
            "error >= (ceil((d - 1) ln 2 / (2 epsilon)) - 1) / 2",
            max(0.0, packed),
            "every mechanism",
        ),
        _exact("pure: packing", "error with probability 0.05", ours, "every mechanism, in whole rows"),
        *_median(d, epsilon),
    ]


def _with_gains(d: int, sigma1: float) -> list[Entry]:
    """The square root with equal columns, up to a million values: its variances take a step each."""
    if d > 20:
        return []
    value = SquareRoot(horizon=1 << d, upper=1).multiplier * sigma1
    return [_exact("Gaussian: square root with gains", "sd, exact", value, "streams; PrefixTree to 2^11")]


def _median(d: int, epsilon: Number) -> list[Entry]:
    """One median and nothing else: the rank error of the exponential mechanism, with probability 0.95."""
    rank = 2 / float(exact(epsilon)) * (d * math.log(2) + math.log(20))
    here = GridQuantile(quantile=0.5, epsilon=epsilon, size=1 << d, method="exponential").accuracy(0.05)
    return [
        _exact(
            "pure: one median, the notes", "rank error (2 / epsilon) ln(2^d / 0.05)", rank, "nothing else is released"
        ),
        _exact("pure: one median, here", "rank error with probability 0.95", here, "GridQuantile, PrivateQuantile"),
    ]


def _approximate(d: int, epsilon: Number, delta: Number, n: int | None) -> list[Entry]:
    sigma1 = analytic_sigma(epsilon=epsilon, delta=delta, sensitivity=1)
    low, high = gamma2_prefix(1 << d)
    gained = _with_gains(d, sigma1)
    high = min([high, *(entry.value / sigma1 for entry in gained if entry.value)])
    rate, log = float(exact(epsilon)), -math.log(float(exact(delta)))
    shape = None if n is None else n * min(1.0, (2 ** _log_star(d) * log / (rate * n)) ** 0.4)
    return [
        _exact("Gaussian: binary tree", "sd sqrt(d (d + 1)) sigma1", math.sqrt(d * (d + 1)) * sigma1, "not consistent"),
        _exact("Gaussian: square root", "sd sigma1 sum f_k^2", root_squares(1 << d) * sigma1, "PrefixTree from 2^12"),
        *gained,
        _exact("Gaussian: gamma_2, at least", "sd sigma1 gamma_2(T)", low * sigma1 * BELOW, LEAST),
        _exact("Gaussian: gamma_2, at most", "sd sigma1 gamma_2(T)", high * sigma1, "Factorization, or the above"),
        _shape("approximate: log* of the notes", "n (2^(log* d) log(1/delta) / (epsilon n))^(2/5)", shape,
               "Beimel, Nissim, Stemmer 2013; loses to all of the above"),
        _shape("approximate: state of the art", "log*(2^d) log(1/delta) / epsilon", _log_star(2.0**d) * log / rate,
               "Cohen, Lyu, Nelson, Sarlos, Stemmer 2023, up to logarithms"),
        _shape("approximate: lower", "log(1/delta) / epsilon", log / rate, "the notes; log* by Bun and others 2015"),
    ]  # fmt: skip


def _exact(name: str, claim: str, value: float, note: str) -> Entry:
    return Entry(name=name, claim=claim, value=value, kind="exact", note=note)


def _shape(name: str, claim: str, value: float | None, note: str) -> Entry:
    return Entry(name=name, claim=claim, value=value, kind="no number" if value is None else "shape only", note=note)


def gamma2_prefix(cells: int) -> tuple[float, float]:
    """gamma_2 of all prefixes from below and above: certified, or beyond the table the trace norm and the square root.

    >>> gamma2_prefix(8), [round(bound, 3) for bound in gamma2_prefix(1 << 20)]
    ((1.510483, 1.510485), [5.115, 5.479])
    """
    if cells in GAMMA2:
        return GAMMA2[cells]
    if cells <= SUMMED:
        return thresholds_bound(cells), root_squares(cells)
    return BELOW * (math.log(cells) + EULER + math.log(16 / math.pi)) / math.pi, root_squares(cells)


@lru_cache(maxsize=64)
def root_squares(cells: int) -> float:
    """sum of f_k^2 for k < cells, f_k = C(2k, k) / 4^k.

    >>> [round(root_squares(cells), 5) for cells in (8, 16, 256, 1024)]
    [1.71838, 1.94388, 2.83105, 3.27255]
    """
    if cells > SUMMED:
        return (math.log(cells) + EULER + math.log(16)) / math.pi
    import numpy as np

    return 1 + float(np.exp(2 * np.cumsum(np.log1p(-0.5 / np.arange(1, cells)))).sum())


def _log_star(x: float) -> int:
    """How often the binary logarithm must be taken until at most 1 is left."""
    found = 0
    while x > 1:
        x, found = math.log2(x), found + 1
    return found
