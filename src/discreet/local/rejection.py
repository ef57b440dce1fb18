"""From a local protocol to statistical queries: messages simulated by rejection sampling.

Theorem (Kasiviswanathan, Lee, Nissim, Raskhodnikova, Smith 2008; exact bounds ours).  Let R be an epsilon-DP randomizer
with finitely many reports and x0 any value.  Draw z from R(x0), ask for the mean w of

    psi_z(x) = Pr[R(x) = z] / (e^epsilon Pr[R(x0) = z]),   which lies in [e^(-2 epsilon), 1],

and accept z with probability w, else draw again.  If the answers are exact, z has the law of R(x) for x drawn from the
population, after e^epsilon draws on average.  If they are within tau < e^-epsilon, the law is within e^epsilon tau in
total variation, after at most e^epsilon / (1 - e^epsilon tau) draws on average.  So n users are simulated within
beta with tau = beta / (n e^epsilon); the notes' beta / (n e^(2 epsilon)) is more than is needed, and their query
Pr[R(x) = z] itself has no scale.  Proof: docs/theory/local_protocols.md.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from discreet.errors import UnsupportedError, require
from discreet.hazmat.entropy import RandomSource, source
from discreet.hazmat.samplers import bernoulli
from discreet.local.coins import whole
from discreet.local.protocol import LocalProtocol
from discreet.privacy.enclosure import exp_up
from discreet.privacy.number import Number, exact
from discreet.queries.statistical import RowFunction, StatisticalOracle

if TYPE_CHECKING:
    from discreet.queries.statistical import Rows

MOST = 1 << 16  # draws for one message


class SimulatedUsers:
    """Messages of users from the population that an oracle knows; values are in column 0, as `protocol` has them.

    An answer is asked for once and remembered, so that there are at most as many queries as reports.

    >>> import numpy as np
    >>> from discreet.hazmat.entropy import SeededRandom
    >>> from discreet.local import LocalStatisticalOracle, RandomizedResponse
    >>> people = np.random.default_rng(0).integers(0, 2, (200_000, 1))
    >>> oracle = LocalStatisticalOracle(people, queries=2, epsilon=4.0, rng=SeededRandom(1))
    >>> users = SimulatedUsers(RandomizedResponse(epsilon=1, size=2), oracle)
    >>> len(users.messages(100, rng=SeededRandom(2))), users.asked
    (100, 2)
    """

    __slots__ = ("_answers", "_oracle", "asked", "base", "draws", "protocol", "start")

    def __init__(self, protocol: LocalProtocol, oracle: StatisticalOracle, *, start: Any = None) -> None:  # noqa: ANN401 - a value
        self.protocol, self._oracle = protocol, oracle
        values = protocol.inputs()
        self.start = values[0] if start is None else start
        self.base = protocol.law(self.start)
        if any(chance == 0 for chance in self.base.values()):
            raise UnsupportedError("a randomizer gives every report a positive chance")
        self._answers: dict[Hashable, Fraction] = {}
        self.asked, self.draws = 0, 0

    def acceptance(self, report: Hashable) -> Fraction:
        """The oracle's answer for a report, in [0, 1]."""
        if report not in self._answers:
            query = RowFunction(lambda rows: self._psi(rows, report), low=0, high=1)
            self.asked += 1
            found = float(self._oracle.answer([query])[0])
            self._answers[report] = Fraction(min(1.0, max(0.0, found)))
        return self._answers[report]

    def _psi(self, rows: Rows, report: Hashable) -> Any:  # noqa: ANN401 - an array
        import numpy as np

        codes, where = np.unique(rows[:, 0], return_inverse=True)
        scale = exp_up(exact(self.protocol.epsilon)) * self.base[report]
        chances = [float(self.protocol.law(_value(code)).get(report, Fraction(0)) / scale) for code in codes]
        return np.array(chances)[where]

    def messages(self, n: int, *, rng: RandomSource | None = None) -> list[Hashable]:
        """n independent messages."""
        whole("n", n, least=1)
        random = source(rng)
        return [self._message(random) for _ in range(n)]

    def _message(self, random: RandomSource) -> Hashable:
        for _ in range(MOST):
            self.draws += 1
            report = _drawn(self.base, random)
            if bernoulli(self.acceptance(report), rng=random):
                return report
        raise UnsupportedError("the oracle's answers accept nothing: its tolerance is above e^-epsilon")


def simulated_law(base: Mapping[Hashable, Fraction], answers: Mapping[Hashable, Fraction]) -> dict[Hashable, Fraction]:
    """The exact law of a message: proportional to the chance of a draw times the answer, clipped to [0, 1].

    >>> simulated_law({0: Fraction(1, 2), 1: Fraction(1, 2)}, {0: Fraction(1, 4), 1: Fraction(3, 4)})
    {0: Fraction(1, 4), 1: Fraction(3, 4)}
    """
    weights = {z: chance * min(Fraction(1), max(Fraction(0), answers[z])) for z, chance in base.items()}
    total = sum(weights.values(), Fraction(0))
    require(total > 0, "an answer above 0", total=0)
    return {z: weight / total for z, weight in weights.items()}


def simulation_tolerance(n: int, *, epsilon: Number, beta: float) -> float:
    """The tau at which all messages of n users together are within beta of the truth.

    >>> round(simulation_tolerance(1000, epsilon=1.0, beta=0.05) * 1e5, 3)
    1.839
    """
    whole("n", n, least=1)
    require(0 < beta < 1, "0 < beta < 1", beta=beta)
    return beta / (n * float(exp_up(exact(epsilon))))


def _value(code: float) -> int | float:
    return int(code) if float(code).is_integer() else float(code)


def _drawn(law: Mapping[Hashable, Fraction], random: RandomSource) -> Hashable:
    """One report of a law whose chances are rational."""
    left = Fraction(1)
    *most, last = law
    for report in most:
        if bernoulli(law[report] / left, rng=random):
            return report
        left -= law[report]
    return last
