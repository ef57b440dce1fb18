"""Every conjunction and disjunction of at most t literals from one small summary.

Theorem (Thaler, Ullman, Vadhan 2012; Edmonds, Nikolov, Ullman 2020).  Counts of all sets of at most D literals are
released with noise, by levels (`conjunction_weights`), and an answer is a sum of them by a fixed rule:

    "chebyshev"   a disjunction is g(number of satisfied literals) with |g - 1| <= alpha (`chebyshev_polynomial`),
                  and a conjunction is n less the disjunction of the opposite literals
    "lp"          a conjunction is the cheapest combination of parities that is right up to alpha
                  (`conjunction_levels`), and a disjunction is n less the conjunction of the opposite literals

The release keeps its budget.  Each answer is the count up to alpha n, plus noise of standard deviation at most
sigma_1 sum |c_s| sqrt(C(t, s) C(d, s)), where sigma_1 is the noise for a count; D is about sqrt t.
Proof: docs/theory/chebyshev.md.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from numbers import Integral
from typing import TYPE_CHECKING, Literal

from discreet.errors import DomainError, UnsupportedError, require
from discreet.hazmat.entropy import RandomSource
from discreet.mechanisms.laplace import Laplace
from discreet.privacy.event import Event
from discreet.privacy.guarantee import Guarantee, PureDP
from discreet.privacy.neighbours import Neighbours
from discreet.privacy.number import Number, exact
from discreet.queries.workload import swaps
from discreet.release.noise import Noise, noise_for, relation_for, variance
from discreet.structured.conjunctions.chebyshev_polynomial import checked
from discreet.structured.conjunctions.conjunction_counts import Kind, level_counts, level_sizes, place
from discreet.structured.conjunctions.conjunction_rows import boolean_rows
from discreet.structured.conjunctions.conjunction_rules import Method, Rule, exactly, full_rule, rules, spread, worse
from discreet.structured.conjunctions.conjunction_weights import efforts, moved, multiples
from discreet.structured.streams.laplace_sums import laplace_tail

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

MOST = 100_000_000  # counts in a summary; about three gigabytes while it is made
Connective = Literal["conjunction", "disjunction"]


@dataclass(frozen=True, kw_only=True, slots=True)
class ChebyshevConjunctions:
    """Summarise rows of `d` yes-and-no attributes for all conjunctions and disjunctions of at most `t` literals.

    `alpha` is the error allowed besides noise, as a fraction of the rows; 0 is exact.  Method "lp" has the least noise
    and both polarities for nothing.  Method "chebyshev" counts 2^s sets for every s attributes, or with `monotone` one:
    then it answers disjunctions of positive and conjunctions of negative literals.  Without `n` one row may be
    added or removed; with a public `n` one row may be replaced.

    >>> import numpy as np
    >>> from discreet.privacy.guarantee import ApproxDP
    >>> summarise = ChebyshevConjunctions(d=12, t=4, alpha=0.05, budget=ApproxDP(1.0, 1e-6))
    >>> summary = summarise(np.random.default_rng(0).random((5000, 12)) < 0.8)
    >>> 1500 < summary.answer({0: True, 3: True, 5: True, 7: True}) < 2600  # 2048 expected
    True
    >>> summarise.degree, round(summarise.multiplier, 2)
    (4, 3.91)
    """

    d: int
    t: int
    alpha: Number
    budget: Guarantee
    n: int | None = None
    method: Method = "lp"
    monotone: bool = False

    def __post_init__(self) -> None:
        whole = isinstance(self.d, int) and not isinstance(self.d, bool)
        require(whole and 1 <= self.d < 1 << 31, "an integer 1 <= d < 2^31", d=self.d)
        checked(self.t, self.alpha)
        require(self.t <= self.d, "t <= d", t=self.t, d=self.d)
        require(self.method in ("lp", "chebyshev"), "method lp or chebyshev", method=self.method)
        require(isinstance(self.monotone, bool), "monotone True or False", monotone=self.monotone)
        require(not self.monotone or self.method == "chebyshev", "method chebyshev for monotone", method=self.method)
        if self.public:
            require(self.n is not None, "a public n where rows are replaced", n=self.n)
        require(self.size <= MOST, f"a summary of at most {MOST} counts; raise alpha, or lower t", counts=self.size)
        self.noise  # noqa: B018 - refuse a bad budget now

    @property
    def neighbours(self) -> type[Neighbours]:
        """Whose presence or value is hidden."""
        return relation_for(self.budget, n=self.n)

    @property
    def public(self) -> bool:
        """Whether the number of rows is public."""
        return swaps(self.neighbours)

    @property
    def kind(self) -> Kind:
        """What is counted for each set."""
        return "parity" if self.method == "lp" else "monotone" if self.monotone else "conjunction"

    @property
    def rule(self) -> Rule:
        """The coefficients of the levels in an answer for t literals."""
        return full_rule(self.method, self.d, self.t, exact(self.alpha))

    @property
    def degree(self) -> int:
        """D: the largest sets that are counted."""
        return len(self.rule) - 1

    @property
    def size(self) -> int:
        """How many counts the summary holds."""
        return sum(level_sizes(self.kind, self.d, self.degree)) - self.public

    @property
    def multiplier(self) -> float:
        """The noise of an answer for t literals in units of the noise of one count (Gaussian; the least possible)."""
        return sum(self._efforts())

    @property
    def multiples(self) -> tuple[int, ...]:
        """q_s: how often each level is counted."""
        return multiples(self.d, self._efforts(), pure=isinstance(self.budget, PureDP))

    @property
    def noise(self) -> Noise:
        """The noise of every multiple of a count."""
        absolute, square = (
            moved(self.kind, self.d, self.multiples, power=power, replaced=self.public) for power in (1, 2)
        )
        return noise_for(self.budget, absolute=absolute, square=square, size=self.size)

    def __call__(self, data: object, *, rng: RandomSource | None = None) -> ConjunctionSummary:
        """The summary of rows of booleans or signs, or of encoded two-valued columns."""
        import numpy as np

        rows = boolean_rows(data, d=self.d)
        if self.public and len(rows) != self.n:
            raise DomainError("the data does not have the n rows that were declared public")
        true = level_counts(rows, self.kind, self.degree)
        measured = [level * q for level, q in zip(true, self.multiples, strict=True) if q]
        drawn = np.asarray(self.noise(np.concatenate(measured), rng=rng), dtype=np.float64)
        ends = np.cumsum([len(level) for level in measured])[:-1]
        parts = iter(np.split(drawn, ends))
        levels = [next(parts) / q if q else np.array([float(len(rows))]) for q in self.multiples]
        return ConjunctionSummary(mechanism=self, levels=tuple(levels))

    @property
    def sds(self) -> tuple[float, ...]:
        """The standard deviation of a count of each level; 0 where it is public."""
        unit = math.sqrt(variance(self.noise))
        return tuple(unit / q if q else 0.0 for q in self.multiples)

    def rules(self) -> tuple[Rule, ...]:
        """The rules for 1, ..., t literals."""
        return rules(self.method, self.d, self.t, exact(self.alpha), self.sds)

    def sd(self, literals: int | None = None) -> float:
        """The standard deviation of the noise in an answer for so many literals; the largest of all if not said."""
        if literals is None:
            return max(self.sd(r) for r in range(1, self.t + 1))
        require(1 <= literals <= self.t, f"1 to {self.t} literals", literals=literals)
        return spread(worse(self.rules()[literals - 1]), literals, self.sds)

    def privacy(self) -> Guarantee:
        """The budget, for the relation served."""
        return self.budget.under(self.neighbours)

    def accuracy(self, beta: float = 0.05, *, size: int | None = None) -> float:
        """A bound on the error of every answer in counts, but with probability beta: of `size` answers, or of all."""
        if self.n is None:
            raise UnsupportedError("the error is alpha n plus noise, and n is private; say about how many rows: n=")
        return self.bound(self.n, beta, size=size)

    def bound(self, n: float, beta: float, *, size: int | None = None) -> float:
        """`accuracy` for n rows: the largest over r of alpha n, where the rule is not exact, plus the noise."""
        require(0 < beta < 1, "0 < beta < 1", beta=beta)
        asked = 2 * sum(math.comb(self.d, r) * 2**r for r in range(1, self.t + 1)) if size is None else size
        require(asked >= 1, "size >= 1", size=size)
        return max(
            (0.0 if exactly(self.method, rule, r) else float(exact(self.alpha)) * n) + self._tail(rule, r, beta / asked)
            for r, rule in enumerate(self.rules(), start=1)
        )

    def _tail(self, rule: Rule, literals: int, beta: float) -> float:
        """What the noise of one answer exceeds with probability at most beta."""
        if not isinstance(self.noise, Laplace):
            return self.sd(literals) * math.sqrt(2 * math.log(2 / beta))
        unit = math.sqrt(variance(self.noise))
        heaviest = max(abs(float(c)) * sd for c, sd in zip(worse(rule), self.sds, strict=False))
        return laplace_tail((self.sd(literals) / unit) ** 2, heaviest / unit, float(self.noise.scale), beta)

    def _count(self, beta: float) -> float:
        """What the measured number of rows is off by with probability at most beta."""
        return self.noise.accuracy(beta) / self.multiples[0]

    def event(self) -> Event:
        """What ran, for the accountant."""
        return self.noise.event()

    def _efforts(self) -> list[float]:
        return efforts(self.d, self.t, [float(c) for c in self.rule], first=int(self.public))


@dataclass(frozen=True, kw_only=True, slots=True, eq=False, repr=False)
class ConjunctionSummary:
    """Noisy counts of small sets, from which every conjunction and disjunction of at most t literals is answered.

    >>> import discreet as dc
    >>> import numpy as np
    >>> rows = np.arange(12_000).reshape(2000, 6) % 5 > 0
    >>> summary = ChebyshevConjunctions(d=6, t=3, alpha=0.05, budget=dc.ZCDP(0.5))(rows)
    >>> abs(float(summary.answer({0: True, 1: True})) - int((rows[:, 0] & rows[:, 1]).sum())) < 400
    True
    """

    mechanism: ChebyshevConjunctions
    levels: tuple[npt.NDArray[np.float64], ...] = field(repr=False)

    @property
    def n(self) -> float:
        """The number of rows: public, or as measured."""
        return float(self.levels[0][0])

    def answer(self, literals: Mapping[int, bool], *, of: Connective = "conjunction") -> float:
        """How many rows satisfy all literals, or any of them for `of="disjunction"`: {attribute: wanted value}."""
        made = self.mechanism
        fits = 1 <= len(literals) <= made.t and all(
            isinstance(i, Integral) and not isinstance(i, bool) and 0 <= i < made.d for i in literals
        )
        require(fits, f"1 to {made.t} literals {{attribute below {made.d}: True or False}}", literals=dict(literals))
        require(of in ("conjunction", "disjunction"), "of conjunction or disjunction", of=of)
        pairs = sorted((int(i), bool(wanted)) for i, wanted in literals.items())
        opposite = [(i, not wanted) for i, wanted in pairs]
        if made.method == "lp":
            return self._parities(pairs) if of == "conjunction" else self.n - self._parities(opposite)
        return self._any(pairs) if of == "disjunction" else self.n - self._any(opposite)

    def _parities(self, literals: list[tuple[int, bool]]) -> float:
        """The rule over parities: each set has the sign of its negative literals."""
        made, total = self.mechanism, 0.0
        for s, c in enumerate(made.rules()[len(literals) - 1]):
            for chosen in itertools.combinations(literals, s):
                sign = -1 if sum(not positive for _, positive in chosen) % 2 else 1
                total += sign * float(c) * float(self.levels[s][place("parity", made.d, chosen)])
        return total

    def _any(self, literals: list[tuple[int, bool]]) -> float:
        """The rule over counts of conjunctions: how many rows satisfy any of the literals."""
        made, total = self.mechanism, 0.0
        if made.monotone and not all(positive for _, positive in literals):
            raise UnsupportedError("a monotone summary answers disjunctions of True and conjunctions of False literals")
        for s, c in enumerate(made.rules()[len(literals) - 1]):
            if s:
                for chosen in itertools.combinations(literals, s):
                    total += float(c) * float(self.levels[s][place(made.kind, made.d, chosen)])
        return total

    def privacy(self) -> Guarantee:
        """What was spent."""
        return self.mechanism.privacy()

    def accuracy(self, beta: float = 0.05, *, size: int | None = None) -> float:
        """The error of no answer exceeds this many rows, but with probability beta; n is bounded from the summary."""
        made = self.mechanism
        if made.public:
            return made.accuracy(beta, size=size)
        return made.bound(self.n + made._count(beta / 2), beta / 2, size=size)

    def __len__(self) -> int:
        return self.mechanism.size

    def __repr__(self) -> str:
        return f"ConjunctionSummary(counts={len(self)}, {self.privacy()!r})"
