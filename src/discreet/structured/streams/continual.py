"""A running count of a stream, released after every step, for the price of one release.

Theorem (Dwork, Naor, Pitassi, Rothblum 2010; Chan, Shi, Song 2011; Denisov, McMahan, Rush, Smith, Thakurta 2022).  Clip
every step to an integer between 0 and `upper`.  Measure integers h_t that depend on the steps so far, add independent
discrete noise calibrated to the l1 or l2 distance of all measurements of two streams, and compute every running count
from the noisy measurements.  All counts together keep the budget, for streams of which one unit changes at most
`steps_per_unit` steps, at least `separation` apart; also if later steps are chosen after seeing earlier counts.

    tree       sums over blocks of b^l steps: pure budgets             (discreet.structured.streams.continual_tree)
    toeplitz   the square root of the matrix of ones, in a few buffers (discreet.structured.streams.toeplitz)
    banded     the same cut off, for units that come back              (discreet.structured.streams.banded)

Proof: docs/theory/continual.md.
"""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from discreet.errors import ParameterError, UnsupportedError, require
from discreet.hazmat.entropy import RandomSource
from discreet.hazmat.integers import integers
from discreet.hazmat.one_process import OneProcess
from discreet.mechanisms.laplace import Laplace
from discreet.privacy.event import Event
from discreet.privacy.guarantee import Guarantee, PureDP
from discreet.privacy.neighbours import AddRemove, Neighbours, NullRow, Replace
from discreet.release.noise import Noise, noise_for, variance
from discreet.release.once import create_new, write_through
from discreet.structured.streams.banded import Banded, Response
from discreet.structured.streams.continual_state import State, read_once
from discreet.structured.streams.continual_tree import StreamTree, best_tree
from discreet.structured.streams.laplace_sums import laplace_tail
from discreet.structured.streams.toeplitz import LONGEST, Covariance, SquareRoot

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    IntArray = npt.NDArray[np.int64]
    Floats = npt.NDArray[np.float64]

Strategy = StreamTree | SquareRoot | Banded
Choice = Literal["auto", "tree", "toeplitz", "banded"]
BANDS = 32  # where nothing else is known


class ContinualCounter(OneProcess):
    """Count a stream of at most `horizon` steps, each an integer clipped to 0 .. upper.

    Two streams are neighbours if they differ in one step, by at most `upper`: one contribution was added or removed
    (AddRemove, NullRow), or the value of one step was replaced (Replace).  When a step is a sum over many people,
    `upper` bounds the whole sum, which is clipped.  A unit that may change several steps is covered by
    `steps_per_unit`, which the caller must enforce; all counts are one release and cost the budget once.

    Noise and accounting are exact; the counts are unbiased and may be negative or fall.

    >>> from discreet.privacy.guarantee import ZCDP
    >>> counter = ContinualCounter(horizon=1_000_000, upper=5, budget=ZCDP(0.1))
    >>> _ = counter.add(3)
    >>> abs(counter.value - 3) < counter.error(beta=1e-6)
    True
    >>> values = counter.add_many([1, 0, 7, 2])  # 7 counts as 5
    >>> len(values), counter.steps, counter.privacy()
    (4, 5, ZCDP(rho=0.1))
    """

    WHAT, INSTEAD = "a counter", "save it and load it there instead"

    __slots__ = (
        "_closed", "_public", "_response", "_rng", "_secret", "bands", "budget", "horizon", "mechanism", "noise",
        "separation", "steps", "steps_per_unit", "strategy", "upper", "value",
    )  # fmt: skip

    def __init__(
        self,
        *,
        horizon: int,
        upper: int,
        budget: Guarantee,
        mechanism: Choice = "auto",
        steps_per_unit: int = 1,
        separation: int = 1,
        bands: int | None = None,
        rng: RandomSource | None = None,
    ) -> None:
        given = {"horizon": horizon, "upper": upper, "steps_per_unit": steps_per_unit, "separation": separation}
        for name, number in given.items():
            whole = isinstance(number, int) and not isinstance(number, bool)
            require(whole and number >= 1, f"an integer {name} >= 1", **{name: number})
        known = mechanism in ("auto", "tree", "toeplitz", "banded")
        require(known, "mechanism auto, tree, toeplitz or banded", mechanism=mechanism)
        require(bands is None or mechanism == "banded", "bands with mechanism='banded' only", bands=bands)
        require(isinstance(budget, Guarantee), "a guarantee as budget", budget=type(budget).__name__)
        if budget.neighbours not in (None, AddRemove, NullRow, Replace):
            raise UnsupportedError(f"a stream has no neighbours of the kind {budget.neighbours.__name__}")
        self.horizon, self.upper, self.budget = horizon, upper, budget
        self.steps_per_unit, self.separation, self.bands = steps_per_unit, separation, bands
        self.mechanism = mechanism
        self.strategy = self._strategy()
        self.noise: Noise = noise_for(
            budget, absolute=self.strategy.absolute, square=self.strategy.square, size=2 * horizon
        )
        self._secret, self._public = self.strategy.start()
        self._response: Covariance | Response | StreamTree | None = None
        self._rng, self._closed = rng, False
        self.steps, self.value = 0, 0.0

    def _strategy(self) -> Strategy:
        pure, bands = isinstance(self.budget, PureDP), self.bands
        unit = self.horizon, self.upper, self.steps_per_unit, self.separation
        match self.mechanism:
            case "tree":
                return best_tree(*unit, pure=pure)
            case "toeplitz":
                return SquareRoot(*unit)
            case "banded":
                return Banded(*unit, bands=max(self.separation, BANDS) if bands is None else bands)
        if pure or self.horizon > LONGEST or self.upper >= 1 << 32:
            return best_tree(*unit, pure=pure)
        root = SquareRoot(*unit)
        if self.steps_per_unit == 1 or self.separation == 1:
            return root
        cut = Banded(*unit, bands=min(self.separation, 8 * BANDS))
        return min(root, cut, key=lambda one: one.multiplier)

    def add(self, step: int) -> float:
        """Count one more step and release the count so far."""
        whole = integers(step)
        if not isinstance(whole, int):
            raise ParameterError(f"need one integer (for several, add_many), got {type(step).__name__}")
        return float(self.add_many([whole])[0])

    def add_many(self, steps: npt.ArrayLike) -> Floats:
        """Count several steps, and release the count after each of them."""
        clipped = self._clipped(steps)
        with self._alone():
            self._open(len(clipped))
            if not len(clipped):
                import numpy as np

                return np.zeros(0)
            self._closed = True  # whatever fails from here on, these steps are not measured again
            measured = self.strategy.measure(self.steps, self._secret, clipped)
            noisy = self.noise(measured, rng=self._rng)
            values = self.strategy.decode(self.steps, self._public, noisy, len(clipped))  # type: ignore[arg-type]
            self.steps, self.value = self.steps + len(clipped), float(values[-1])
            self._closed = False
        return values

    def _clipped(self, steps: npt.ArrayLike) -> IntArray:
        import numpy as np

        whole = integers(np.atleast_1d(steps) if isinstance(steps, np.ndarray) else list(steps))  # type: ignore[arg-type]
        assert not isinstance(whole, int)
        require(whole.ndim == 1, "a sequence of steps", axes=whole.ndim)
        return np.minimum(np.maximum(whole, 0), self.upper).astype(np.int64)

    def _open(self, count: int) -> None:
        if self._closed:
            raise UnsupportedError(
                "this counter is closed: it was saved, and the loaded one goes on; or a step of it failed"
            )
        most = self.horizon - self.steps
        require(count <= most, f"at most {self.horizon} steps in all, as declared", left=most, given=count)

    @property
    def sd(self) -> float:
        """A bound on the standard deviation of the noise in the count so far."""
        return math.sqrt(variance(self.noise) * self._spread()[0])

    def error(self, beta: float = 0.05) -> float:
        """alpha such that the count so far is off by more than alpha with probability at most beta."""
        require(0 < beta < 1, "0 < beta < 1", beta=beta)
        return self._tail(*self._spread(), beta) if self.steps else 0.0

    def accuracy(self, beta: float = 0.05) -> float:
        """alpha such that, with probability 1 - beta, no count up to the horizon is off by more than alpha."""
        require(0 < beta < 1, "0 < beta < 1", beta=beta)
        return self._tail(*self.strategy.largest, beta / self.horizon)

    def _spread(self) -> tuple[float, float]:
        if self._response is None:
            self._response = self.strategy.response()
        return self._response.until(self.steps)

    def _tail(self, square: float, absolute: float, beta: float) -> float:
        if isinstance(self.noise, Laplace):
            noise = laplace_tail(square, self.strategy.heaviest, float(self.noise.scale), beta)
        else:
            noise = math.sqrt(2 * variance(self.noise) * square * math.log(2 / beta))
        return noise + self.strategy.drift * absolute

    @property
    def neighbours(self) -> type[Neighbours]:
        """Whose contribution is hidden."""
        return self.budget.neighbours or AddRemove

    def privacy(self) -> Guarantee:
        """The budget, for all counts up to the horizon together."""
        return self.budget.under(self.neighbours)

    def event(self) -> Event:
        """What ran, for the accountant: one vector of measurements with noise."""
        return self.noise.event()

    def save(self, path: str | Path) -> None:
        """Write the counter to a new file, readable by its owner only, and close it here.

        The file holds sums of true steps: it is as secret as the data.  A counter lives in one place, since two that
        go on from the same state release the same steps twice: so this one is closed, and `load` moves the file aside.
        If the file cannot be created this one goes on; if writing it fails this one stays closed, since the file may be
        whole, and `load` says whether it is.

        >>> import tempfile
        >>> path = Path(tempfile.mkdtemp()) / "visits.json"
        >>> counter = ContinualCounter(horizon=100, upper=1, budget=PureDP(1))
        >>> before = counter.add(1)
        >>> counter.save(path)
        >>> ContinualCounter.load(path).value == before
        True
        """
        with self._alone():
            self._open(0)
            state = State(
                horizon=self.horizon, upper=self.upper, budget=self.budget, mechanism=self.mechanism,
                steps_per_unit=self.steps_per_unit, separation=self.separation, bands=self.bands, steps=self.steps,
                secret=tuple(int(number) for number in self._secret), public=tuple(float(x) for x in self._public),
                value=self.value,
            )  # fmt: skip
            where, text = Path(path), state.text()
            descriptor = create_new(where, refused="a saved counter is never overwritten")
            self._closed = True  # whatever fails from here on, the file may be whole
            write_through(descriptor, where, lambda file: file.write(text.encode()))

    @classmethod
    def load(cls, path: str | Path, *, rng: RandomSource | None = None) -> ContinualCounter:
        """Go on from a saved state, which is renamed to `<path>.resumed` first and not read again.

        Noise that was added stays in the measurements; noise for later steps is drawn afresh.
        """
        state = read_once(Path(path))
        made = cls(
            horizon=state.horizon, upper=state.upper, budget=state.budget, mechanism=state.mechanism,  # type: ignore[arg-type]
            steps_per_unit=state.steps_per_unit, separation=state.separation, bands=state.bands, rng=rng,
        )  # fmt: skip
        fits = len(state.secret) == len(made._secret) and len(state.public) == len(made._public)
        if not fits or not 0 <= state.steps <= state.horizon:
            raise ParameterError("need a state of this version of the counter, got one of another shape")
        made._secret[:], made._public[:] = state.secret, state.public
        made.steps, made.value = state.steps, state.value
        return made

    def __repr__(self) -> str:
        return f"ContinualCounter(horizon={self.horizon}, upper={self.upper}, {self.budget!r}, steps={self.steps})"
