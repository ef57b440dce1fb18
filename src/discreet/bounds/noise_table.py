"""How much noise one number needs: the variance of every law, against epsilon or against delta.

    delta = 0    Laplace               2 (s / epsilon)^2
                 discrete Laplace      2 p / (1 - p)^2, p = e^(-epsilon / s): what is released here
                 staircase             s^2 (2^(-2/3) (b (1 + b))^(2/3) + b) / (1 - b)^2, b = e^-epsilon: the least
                                       of all continuous laws (Geng, Viswanath 2016)
                 discrete staircase    the least of all integer laws
    delta > 0    classical             2 ln(1.25 / delta) (s / epsilon)^2, proven for epsilon < 1 only: no number beyond
                 analytic              the least sigma^2 for continuous noise (Balle, Wang 2018)
                 discrete              the variance of the integer noise that is released here

for sensitivity s.  At (0.1, 0.1), an exercise of the notes, the classical formula has 62 times the variance that is
needed.  Theory: docs/theory/gaussian.md, docs/theory/staircase.md.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

from discreet.bounds.table import Cell, Tabular, altair, markdown, representable
from discreet.errors import ParameterError, require
from discreet.mechanisms.gaussian import Gaussian
from discreet.mechanisms.gaussian_sigma import analytic_sigma, classical_sigma
from discreet.mechanisms.staircase import Staircase
from discreet.privacy.number import Number, exact

if TYPE_CHECKING:
    import altair as alt

PROVEN = 1  # epsilon from which on the classical formula has no proof


@dataclass(frozen=True, kw_only=True, slots=True)
class Noise:
    """The variance of one law at one price; None where nothing is proven."""

    law: str
    epsilon: float
    delta: float
    variance: float | None


@dataclass(frozen=True, slots=True)
class NoiseTable(Tabular):
    """Variances under a title; `str` is a table in Markdown with a column for each law.

    >>> noise_table(epsilon=[0.1, 0.5], delta=0.1).to_csv().splitlines()[0]
    'law,epsilon,delta,variance'
    """

    title: str
    rows: tuple[Noise, ...]

    def __iter__(self) -> Iterator[Noise]:
        return iter(self.rows)

    def variance(self, law: str, *, epsilon: Number, delta: Number = 0) -> float | None:
        """One number of the table."""
        for row in self.rows:
            if row.law == law and exact(row.epsilon) == exact(epsilon) and exact(row.delta) == exact(delta):
                return row.variance
        raise ParameterError(f"no row for {law!r} at epsilon={epsilon!r}, delta={delta!r}")

    def records(self) -> list[dict[str, Cell]]:
        """One row for each law and price."""
        return [asdict(row) for row in self.rows]

    def __str__(self) -> str:
        prices: dict[tuple[float, float], dict[str, Cell]] = {}
        for row in self.rows:
            line = prices.setdefault((row.epsilon, row.delta), {"epsilon": row.epsilon, "delta": row.delta})
            line[row.law] = row.variance
        return f"{self.title}\n\n{markdown(list(prices.values()), digits=6)}"

    def plot(self) -> alt.Chart:
        """Variance against what varies, a line for each law, on logarithmic axes."""
        pictures = altair()
        against = "delta" if len({row.delta for row in self.rows}) > 1 else "epsilon"
        log = pictures.Scale(type="log")
        rows = [row for row in self.records() if row["variance"] is not None]
        return (
            pictures.Chart(pictures.Data(values=rows))
            .mark_line(point=True)
            .encode(
                x=pictures.X(f"{against}:Q", scale=log),
                y=pictures.Y("variance:Q", scale=log),
                color=pictures.Color("law:N", title=None),
            )
            .properties(width=420, height=320, title=self.title)
        )


def noise_table(
    *, epsilon: Number | Sequence[Number], delta: Number | Sequence[Number] = 0, sensitivity: int = 1
) -> NoiseTable:
    """Variances for every pair of the given epsilons and deltas, all zero or none.

    >>> table = noise_table(epsilon=0.1, delta=[1e-6, 0.1])
    >>> [round(table.variance(law, epsilon=0.1, delta=0.1), 3) for law in ("classical", "analytic", "discrete")]
    [505.146, 8.105, 8.152]
    """
    epsilons, deltas = _several(epsilon, "epsilon"), _several(delta, "delta")
    for one in epsilons:
        require(exact(one) > 0, "epsilon > 0", epsilon=one)
        representable(epsilon=one)
    for one in deltas:
        require(0 <= exact(one) < 1, "0 <= delta < 1", delta=one)
    require(
        len({exact(one) > 0 for one in deltas}) == 1, "deltas that are all zero, or none of them", deltas=len(deltas)
    )
    whole = isinstance(sensitivity, int) and not isinstance(sensitivity, bool)
    require(whole and sensitivity >= 1, "an integer sensitivity >= 1", sensitivity=sensitivity)
    representable(sensitivity=sensitivity)
    laws = _gaussian if exact(deltas[0]) > 0 else _pure
    rows = [
        Noise(law=law, epsilon=float(exact(e)), delta=float(exact(d)), variance=variance)
        for e in epsilons
        for d in deltas
        for law, variance in laws(e, d, sensitivity).items()
    ]
    return NoiseTable(f"Variance of the noise on one number of sensitivity {sensitivity}", tuple(rows))


def _several(given: Number | Sequence[Number], name: str) -> list[Number]:
    several = [given] if isinstance(given, str) or not isinstance(given, Sequence) else list(given)
    require(bool(several), f"at least one {name}", count=len(several))
    return several


def _pure(epsilon: Number, delta: Number, sensitivity: int) -> dict[str, float | None]:
    del delta
    rate = float(exact(epsilon))
    odds, tail = math.exp(-rate / sensitivity), math.exp(-rate)
    staircase = (2 ** (-2 / 3) * (tail * (1 + tail)) ** (2 / 3) + tail) / math.expm1(-rate) ** 2
    return {
        "Laplace": 2 * (sensitivity / rate) ** 2,
        "discrete Laplace": 2 * odds / math.expm1(-rate / sensitivity) ** 2,
        "staircase": sensitivity**2 * staircase,
        "discrete staircase": Staircase(epsilon=epsilon, sensitivity=sensitivity).variance(),
    }


def _gaussian(epsilon: Number, delta: Number, sensitivity: int) -> dict[str, float | None]:
    classical = None
    if exact(epsilon) < PROVEN:
        classical = classical_sigma(epsilon=epsilon, delta=delta, sensitivity=sensitivity) ** 2
    analytic = analytic_sigma(epsilon=epsilon, delta=delta, sensitivity=sensitivity) ** 2
    sigma = float(exact(Gaussian(epsilon=epsilon, delta=delta, sensitivity=sensitivity).sigma))
    return {"classical": classical, "analytic": analytic, "discrete": discrete_variance(sigma)}


def discrete_variance(sigma: float) -> float:
    """The variance of the discrete Gaussian law with this parameter, by its sum; sigma^2 where that is the same.

    >>> round(discrete_variance(0.5), 6), discrete_variance(10.0)
    (0.215013, 100.0)
    """
    if sigma > 3:
        return sigma * sigma  # to 16 digits
    weights = [math.exp(-z * z / (2 * sigma * sigma)) for z in range(60)]
    return 2 * math.fsum(z * z * w for z, w in enumerate(weights)) / (2 * math.fsum(weights) - 1)
