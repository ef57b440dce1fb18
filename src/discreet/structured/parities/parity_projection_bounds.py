"""How wrong projected parities may be: bounds on the sum of squares, for every dataset.

Theorem.  Let w be the noise on k parities of n rows, in counts, of which the body contains the true ones, y.
The projection has ||error||^2 <= <w, projected - y>, and so, with probability 1 - beta and b = ln(4 / beta),

    ||error||^2 <= n (reach + sigma sqrt(2 b k)),        reach >= max over the body of <w, z>:

    elliptope     s d (sqrt d + sqrt b)                  s^2 = sigma^2 + 4, and b is raised by k ln(theta)
    Grothendieck  the same with b + ln 2
    exact         sigma sqrt(2 k ((d - 1) ln 2 + b)), or that of the elliptope
    lifted        sigma D sqrt(2 v (ln D + b))           D = C(d, t/2), v = C(d - t/2, t/2) / C(t, t/2)^2,
                                                         with d + 1 and t + 1 for d and t where t is odd

Also ||error|| <= ||w||, and ||w||^2 <= sigma^2 (k + 2 sqrt(b k) + 2 b).  theta, which is 1 up to 1e-23 for sigma >= 3,
is what integer noise adds to real noise.  Proof: docs/theory/parity_projection.md.
"""

from __future__ import annotations

import math
from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True, slots=True)
class Shape:
    """The public facts the bounds depend on: attributes, size of parities, body and sigma."""

    d: int
    t: int
    body: str
    sigma: float

    @property
    def parities(self) -> int:
        """k."""
        return math.comb(self.d, self.t)

    @property
    def width(self) -> float:
        """The mean of `reach` over the noise, divided by sigma: d^(3/2) for the elliptope."""
        if self.t > 2:
            return self.products * math.sqrt(2 * self._spread * math.log(max(2, self.products)))
        return self.d**1.5

    @property
    def half(self) -> int:
        """How many attributes a product has: t/2, rounded up."""
        return (self.t + 1) // 2

    @property
    def products(self) -> int:
        """D: the rows of the lifted matrix."""
        return math.comb(self.d + self.t % 2, self.half)

    @property
    def times(self) -> int:
        """How often the lifted matrix holds each parity."""
        return math.comb(2 * self.half, self.half)

    @property
    def _spread(self) -> float:
        """v."""
        return math.comb(self.d + self.t % 2 - self.half, self.half) / self.times**2

    def reach(self, slack: float) -> float:
        """A bound on max over the body of <w, z> for one row, but with probability e^-slack."""
        k = self.parities
        if self.t > 2:
            return self.sigma * self.products * math.sqrt(2 * self._spread * (math.log(self.products) + slack))
        extra = k * _log_theta(self.sigma) + (math.log(2) if self.body == "grothendieck" else 0)
        relaxed = math.sqrt(self.sigma**2 + 4) * self.d * (math.sqrt(self.d) + math.sqrt(slack + extra))
        if self.body != "exact":
            return relaxed
        return min(relaxed, self.sigma * math.sqrt(2 * k * ((self.d - 1) * math.log(2) + slack)))

    def squares(self, n: float, slack: float) -> float:
        """||error||^2 in counts, but with probability 2 e^-slack."""
        return n * (self.reach(slack) + self.sigma * math.sqrt(2 * slack * self.parities))

    def raw(self, slack: float) -> float:
        """||w||^2, but with probability e^-slack (Hsu, Kakade, Zhang 2012)."""
        k = self.parities
        return self.sigma**2 * (k + 2 * math.sqrt(slack * k) + 2 * slack)


def _log_theta(sigma: float) -> float:
    """ln(theta), from above."""
    square = 4 * sigma**2 / (4 + sigma**2)  # tau^2
    if square >= 0.05:
        return 3 * math.exp(-2 * math.pi**2 * square)
    return math.log(1.001 / math.sqrt(2 * math.pi * square))
