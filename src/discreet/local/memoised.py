"""Reports every day from one private memory: a published lifetime epsilon, however many reports.

Theorem (Erlingsson, Pihur, Korolova 2014; Ding, Kulkarni, Yekhanin 2017; the periods ours).  At the start of each
of `periods` public periods a device draws a permanent report of its value of that moment from an epsilon-DP protocol,
and keeps it.  Every report of that period is the permanent one told by randomized response among all reports, fresh
noise each time.  Whatever the number of reports and however the value changes, everything that a device ever sends is
(periods epsilon)-DP, its whole history of values changed to any other; one report alone is `once()`, which is less.
With gamma the chance of telling the permanent report less that of telling a given other one,

    (estimate of the protocol - (1 - gamma) u) / gamma,   u the estimate from equally many of all reports,

is unbiased if the protocol's estimate is a mean over its reports of what each says; other protocols are refused.  A
device that draws a new permanent report whenever its value changes is not private in this sense: when it changed can be
seen.  Proof: docs/theory/local_protocols.md.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from discreet.errors import BudgetExhausted, ParameterError, UnsupportedError
from discreet.hazmat.entropy import RandomSource, source
from discreet.hazmat.one_process import OneProcess
from discreet.local.chernoff import share_error
from discreet.local.coins import positive, whole
from discreet.local.frequency import FrequencyOracle
from discreet.local.hadamard import HadamardResponse
from discreet.local.one_bit import OneBitMean
from discreet.local.piecewise import PiecewiseMean
from discreet.local.protocol import LocalProtocol
from discreet.local.randomized_response import RandomizedResponse
from discreet.local.wire import Codes
from discreet.privacy.event import Event, PureEvent
from discreet.privacy.guarantee import PureDP
from discreet.privacy.neighbours import Local
from discreet.privacy.number import Number, exact, up

if TYPE_CHECKING:
    from fractions import Fraction

    import numpy as np
    import numpy.typing as npt

    from discreet.local.protocol import Array, Tally

    Floats = npt.NDArray[np.float64]

COUNTED = (FrequencyOracle, OneBitMean)  # whose error is that of counts
AFFINE = (*COUNTED, PiecewiseMean)  # whose estimate is a mean of what single reports say


@dataclass(frozen=True, slots=True)
class Memoised(LocalProtocol):
    """`protocol` draws the permanent reports, `instant` is the epsilon of telling them.

    >>> from discreet.local import RandomizedResponse
    >>> daily = Memoised(RandomizedResponse(epsilon=2, size=4), instant=1.5, periods=3)
    >>> daily.lifetime().epsilon, round(daily.once(), 3)
    (6.0, 0.957)
    >>> from discreet.hazmat.entropy import SeededRandom
    >>> devices = daily.devices(rng=SeededRandom(1))
    >>> devices.begin([0, 0, 1, 3] * 5000)
    >>> server = daily.server(); server.add(devices.report()); server.estimate().round(1)
    array([0.5, 0.3, 0. , 0.2])
    """

    protocol: LocalProtocol
    instant: Number
    periods: int = 1

    def __post_init__(self) -> None:
        positive(self.instant)
        whole("periods", self.periods, least=1)
        if not isinstance(self.protocol, LocalProtocol) or not isinstance(self.protocol.form, Codes):
            raise UnsupportedError("permanent reports must be codes: not masks, and not numbers on a lattice")
        if not isinstance(self.protocol, AFFINE) or self.protocol.cells not in (1, self.form.limit):
            raise UnsupportedError("permanent reports must be counted one by one, and an estimate affine in the counts")

    @property
    def epsilon(self) -> Number:  # type: ignore[override]
        """Of all reports of a device, ever."""
        return up(exact(self.protocol.epsilon) * self.periods)

    def lifetime(self) -> PureDP:
        """Published: everything that a device ever sends."""
        return PureDP(self.epsilon, neighbours=Local)

    def privacy(self) -> PureDP:
        """The lifetime's."""
        return self.lifetime()

    def event(self) -> Event:
        """The whole life of a device, for the accountant."""
        return PureEvent(epsilon=self.epsilon)

    def once(self) -> float:
        """The epsilon of one report alone, from all likelihoods."""
        return self.table().epsilon()

    @property
    def teller(self) -> RandomizedResponse:
        """The fresh noise."""
        return _teller(exact(self.instant), self.form.limit)

    @property
    def form(self) -> Codes:
        """That of the permanent report."""
        form = self.protocol.form
        assert isinstance(form, Codes)
        return form

    @property
    def cells(self) -> int:
        """Those of the protocol."""
        return self.protocol.cells

    def checked(self, values: object) -> Array:
        """As the protocol does."""
        return self.protocol.checked(values)

    def draw(self, values: Array, random: RandomSource) -> Array:
        """A permanent report and its first telling."""
        return self.tell(self.protocol.draw(values, random), random)

    def tell(self, permanent: Array, random: RandomSource) -> Array:
        """The permanent reports through fresh noise."""
        return self.teller.draw(permanent, random)

    def tally(self, reports: Array) -> Tally:
        """As the protocol does."""
        return self.protocol.tally(reports)

    @property
    def gamma(self) -> float:
        """The chance of telling the permanent report less that of telling a given other one."""
        return float(self.teller.truth - self.teller.noise)

    def decode(self, tally: Tally, n: int) -> Any:  # noqa: ANN401 - a number or fractions
        """Unbiased for what the users held when the period began."""
        return (self.protocol.decode(tally, n) - (1 - self.gamma) * self._even()) / self.gamma

    def _even(self) -> Any:  # noqa: ANN401 - shaped like the estimate
        """What the protocol estimates from one of each report."""
        import numpy as np

        limit = self.form.limit
        return self.protocol.decode(self.protocol.tally(np.arange(limit, dtype=np.int64)), limit)

    def bound(self, tally: Tally, n: int, beta: float) -> Any:  # noqa: ANN401 - shaped like the estimate
        """By counts of told reports, which are independent coins; permanent ones vary less, and tell nothing here."""
        if isinstance(self.protocol, COUNTED):
            return self.protocol.bound(tally, n, beta) / self.gamma
        low, width = self._said()
        share = min(max((self.protocol.decode(tally, n) - low) / width, 0.0), 1.0)
        return float(share_error(share * n, n, beta)) * width / self.gamma

    def variance(self, n: int) -> float:
        """That of one round, from above: what lies in an interval varies by a quarter of its width squared at most."""
        whole("n", n, least=1)
        return (self._said()[1] / self.gamma) ** 2 / (4 * n)

    def _said(self) -> tuple[float, float]:
        """The least that one report can say about a number, and the width of the interval of all that it can say."""
        import numpy as np

        if isinstance(self.protocol, FrequencyOracle):
            gap = float(self.protocol.truth - self.protocol.noise)
            if isinstance(self.protocol, HadamardResponse):  # a sign, or nothing
                return -1 / gap, 2 / gap
            return -float(self.protocol.noise) / gap, 1 / gap
        low, high = (float(self.protocol.decode(np.array([code]), 1)) for code in (0, self.form.limit - 1))
        return low, high - low

    def law(self, value: Any) -> dict[Any, Fraction]:  # noqa: ANN401 - whatever the values are
        """Of one report."""
        teller = self.teller
        gap = teller.truth - teller.noise
        law = self.protocol.law(value)
        return {code: gap * chance + teller.noise for code, chance in law.items()}

    def inputs(self) -> list[Any]:
        """Those of the protocol."""
        return self.protocol.inputs()

    def fingerprint(self) -> bytes:
        """That of the protocol, the fresh noise and the periods."""
        parts = ["Memoised", self.protocol.fingerprint().hex(), str(exact(self.instant)), str(self.periods)]
        return hashlib.sha256("|".join(parts).encode()).digest()[:8]

    def devices(self, *, rng: RandomSource | None = None) -> Devices:
        """The users' side over time."""
        return Devices(self, source(rng))


class Devices(OneProcess):
    """Devices with a memory: `begin` a period with the values of that moment, `report` as often as wanted.

    >>> from discreet.hazmat.entropy import SeededRandom
    >>> devices = Devices(Memoised(RandomizedResponse(epsilon=2, size=4), instant=1.5, periods=3), SeededRandom(1))
    >>> devices.begin([0, 1, 2])
    >>> len(devices.report()), devices.begun
    (3, 1)
    """

    WHAT, INSTEAD = "a device", "it has one memory and counts its periods"

    __slots__ = ("_permanent", "_random", "begun", "protocol")

    def __init__(self, protocol: Memoised, random: RandomSource) -> None:
        self.protocol, self._random = protocol, random
        self._permanent: Array | None = None
        self.begun = 0

    def begin(self, values: object) -> None:
        """Draw permanent reports; refused after the last period."""
        checked = self.protocol.checked(values)
        with self._alone():
            if self.begun >= self.protocol.periods:
                raise BudgetExhausted(requested="another period", remaining="none")
            self.begun += 1
            self._permanent = self.protocol.protocol.draw(checked, self._random)

    def report(self) -> Array:
        """The permanent reports of this period, told anew; values are not looked at."""
        with self._alone():
            if self._permanent is None:
                raise ParameterError("need a period that has begun")
            return self.protocol.tell(self._permanent, self._random)


@lru_cache(maxsize=256)
def _teller(epsilon: Fraction, size: int) -> RandomizedResponse:
    return RandomizedResponse(epsilon=epsilon, size=size)
