"""What is promised: four currencies of privacy, ordered, composed and converted.

    PureDP(epsilon)            Pr[M(x) in T] <= e^epsilon Pr[M(x') in T]
    ApproxDP(epsilon, delta)   Pr[M(x) in T] <= e^epsilon Pr[M(x') in T] + delta
    ZCDP(rho)                  D_order(M(x) || M(x')) <= rho * order for every Renyi order > 1
    GaussianDP(mu)             at least as hard to tell apart as N(0, 1) and N(mu, 1)
    RenyiDP(order, epsilon)    D_order(M(x) || M(x')) <= epsilon, for one order

for all neighbours x ~ x' and all events T.  `a <= b` means that a implies b;
`a + b` is the guarantee of running both, the second chosen after seeing the first,
in their own currency; `group(k)` is the guarantee for datasets k steps apart.
Numbers are exact, or rounded toward the weaker promise.  A delta of 1 promises nothing:
composing or grouping up to it raises `UnsupportedError`, as no guarantee is left to return.

A guarantee without a relation (neighbours=None) holds for the relation in which its
sensitivity was stated, so it takes on the relation of what it is added to or compared with.
`under` names that relation once; from one named relation to another it converts by a theorem, or refuses.

Conversions (proofs: docs/theory/guarantees.md):
    epsilon-DP            =>  epsilon^2 / 2 - zCDP                         (Bun, Steinke 2016)
    (epsilon, delta)-DP   =>  (epsilon', delta') along the line of randomized response (Kairouz, Oh, Viswanath 2015)
    epsilon-DP            =>  mu-GDP, mu = -2 Phi^-1(1 / (1 + e^epsilon))
    mu-GDP                =>  mu^2 / 2 - zCDP, and (epsilon, delta) exactly (Dong, Roth, Su 2022)
    rho-zCDP              =>  (epsilon, delta), best over Renyi orders     (Canonne, Kamath, Steinke 2020)
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from fractions import Fraction
from numbers import Integral
from typing import Any, Self

from discreet.errors import UnsupportedError, require
from discreet.privacy import convert
from discreet.privacy.neighbours import AddRemove, Neighbours, NullRow, Replace, known, steps_within
from discreet.privacy.number import Number, exact, tidy

Relation = type[Neighbours] | None


def _common(a: Guarantee, b: Guarantee) -> Relation:
    """The relation under which both hold; None adopts the other's, two different ones are refused."""
    if a.neighbours is not None and b.neighbours is not None and a.neighbours is not b.neighbours:
        raise UnsupportedError(
            f"cannot add a guarantee under {a.neighbours.__name__} to one under {b.neighbours.__name__};"
            " convert one of them first (under)"
        )
    return a.neighbours or b.neighbours


def _settle(guarantee: Guarantee, name: str, *, least: int = 0, most: int | None = None) -> None:
    """Check the relation and one number of a guarantee, and store the number in its canonical form."""
    known(guarantee.neighbours)
    given = getattr(guarantee, name)
    value = exact(given)
    rule = f"{name} >= {least}" if most is None else f"{least} <= {name} < {most}"
    require(value >= least and (most is None or value < most), rule, **{name: given})
    object.__setattr__(guarantee, name, tidy(value))


class Guarantee:
    """Base of the closed set of guarantees; see the module docstring."""

    __slots__ = ()
    neighbours: Relation

    def __add__(self, other: Any) -> Self:  # noqa: ANN401 - each currency adds only its own kind
        return NotImplemented

    def __le__(self, other: Guarantee) -> bool:
        """Whether self implies other: every mechanism with this guarantee has the other too."""
        if not isinstance(other, Guarantee):
            return NotImplemented
        if None in (self.neighbours, other.neighbours) or self.neighbours is other.neighbours:
            return _implies(self, other)
        try:
            return _implies(self.under(other.neighbours), other)
        except UnsupportedError:
            return False

    def __ge__(self, other: Guarantee) -> bool:
        """Whether other implies self."""
        return other <= self if isinstance(other, Guarantee) else NotImplemented

    def repeat(self, times: int) -> Self:
        """Run `times` mechanisms with this guarantee.

        >>> PureDP(0.1).repeat(3)
        PureDP(epsilon=0.3)
        """
        raise NotImplementedError

    def group(self, size: int) -> Self:
        """The guarantee for datasets `size` steps apart."""
        raise NotImplementedError

    def to_approx(self, delta: Number) -> ApproxDP:
        """The least epsilon for which (epsilon, delta)-DP follows."""
        raise NotImplementedError

    def under(self, neighbours: Relation) -> Self:
        """The same mechanism under this relation: named if none was, else converted by a theorem or refused.

        >>> PureDP(1.0).under(AddRemove).under(Replace)
        PureDP(epsilon=2.0)
        """
        if self.neighbours is known(neighbours):
            return self
        steps = 1 if self.neighbours is None else steps_within(self.neighbours, neighbours)
        return replace(self if steps == 1 else self.group(steps), neighbours=neighbours)  # type: ignore[type-var]

    def to_replace(self) -> Self:
        """The same mechanism under Replace: a change is a removal and an addition."""
        if self.neighbours not in (Replace, AddRemove, NullRow):
            raise UnsupportedError(f"to_replace needs AddRemove or NullRow, got {_name(self.neighbours)}")
        return self.under(Replace)


def _name(relation: Relation) -> str:
    return "None" if relation is None else relation.__name__


def _count(name: str, value: int) -> int:
    """A whole number of repetitions or steps."""
    whole = isinstance(value, Integral) and not isinstance(value, bool)
    require(whole and value >= 1, f"a whole number {name} >= 1", **{name: value})
    return int(value)


def _approx(epsilon: Fraction, delta: Fraction, relation: Relation) -> ApproxDP:
    """The guarantee, or a refusal where delta has reached 1 and nothing is promised."""
    if delta >= 1:
        raise UnsupportedError("no guarantee is left: the deltas add up to 1 or more, and delta = 1 promises nothing")
    return ApproxDP(epsilon, delta, neighbours=relation)


@dataclass(frozen=True, slots=True)
class PureDP(Guarantee):
    """epsilon-differential privacy.

    >>> PureDP(0.1) + PureDP(0.2)
    PureDP(epsilon=0.3)
    >>> PureDP(0.1).group(5)
    PureDP(epsilon=0.5)
    """

    epsilon: Number
    neighbours: Relation = field(default=None, kw_only=True, repr=False)

    def __post_init__(self) -> None:
        _settle(self, "epsilon")

    def __add__(self, other: PureDP) -> PureDP:
        if not isinstance(other, PureDP):
            return NotImplemented
        return PureDP(exact(self.epsilon) + exact(other.epsilon), neighbours=_common(self, other))

    def repeat(self, times: int) -> PureDP:
        """Composition adds epsilons."""
        times = _count("times", times)
        return replace(self, epsilon=times * exact(self.epsilon))

    def group(self, size: int) -> PureDP:
        """A path of `size` steps multiplies the ratios."""
        size = _count("size", size)
        return replace(self, epsilon=size * exact(self.epsilon))

    def to_approx(self, delta: Number) -> ApproxDP:
        """epsilon' = ln(e^epsilon - delta (1 + e^epsilon)): exact, attained by randomized response."""
        return ApproxDP(convert.pure_to_approx(exact(self.epsilon), exact(delta)), delta, neighbours=self.neighbours)

    def to_zcdp(self) -> ZCDP:
        """rho = epsilon^2 / 2."""
        return ZCDP(exact(self.epsilon) ** 2 / 2, neighbours=self.neighbours)

    def to_gaussian(self) -> GaussianDP:
        """mu = -2 Phi^-1(1 / (1 + e^epsilon)): the two trade-off curves touch at the kink."""
        return GaussianDP(convert.pure_to_gaussian(exact(self.epsilon)), neighbours=self.neighbours)


@dataclass(frozen=True, slots=True)
class ApproxDP(Guarantee):
    """(epsilon, delta)-differential privacy.

    >>> ApproxDP(0.1, 1e-6) + ApproxDP(0.2, 1e-6)
    ApproxDP(epsilon=0.3, delta=2e-06)
    """

    epsilon: Number
    delta: Number
    neighbours: Relation = field(default=None, kw_only=True, repr=False)

    def __post_init__(self) -> None:
        _settle(self, "epsilon")
        _settle(self, "delta", most=1)

    def __add__(self, other: ApproxDP) -> ApproxDP:
        if not isinstance(other, ApproxDP):
            return NotImplemented
        epsilon, delta = exact(self.epsilon) + exact(other.epsilon), exact(self.delta) + exact(other.delta)
        return _approx(epsilon, delta, _common(self, other))

    def repeat(self, times: int) -> ApproxDP:
        """Composition adds epsilons and deltas."""
        times = _count("times", times)
        return _approx(times * exact(self.epsilon), times * exact(self.delta), self.neighbours)

    def group(self, size: int) -> ApproxDP:
        """(k epsilon, delta (e^(k epsilon) - 1) / (e^epsilon - 1)): the geometric sum along the path.

        >>> ApproxDP(0.1, 1e-6).group(2)
        ApproxDP(epsilon=0.2, delta=2.105170918075648e-06)
        """
        size = _count("size", size)
        delta = convert.group_delta(exact(self.epsilon), exact(self.delta), size)
        return _approx(size * exact(self.epsilon), delta, self.neighbours)

    def to_approx(self, delta: Number) -> ApproxDP:
        """At a larger delta, the epsilon of randomized response that fails with probability delta: exact.

        >>> ApproxDP(1.0, 1e-6).to_approx(0.1)
        ApproxDP(epsilon=0.8529065275397812, delta=0.1)
        """
        own, wanted = exact(self.delta), exact(delta)
        require(own <= wanted < 1, "delta at least the guarantee's own, and below 1", delta=delta, own=self.delta)
        epsilon = convert.pure_to_approx(exact(self.epsilon), (wanted - own) / (1 - own))
        return replace(self, epsilon=epsilon, delta=delta)


@dataclass(frozen=True, slots=True)
class ZCDP(Guarantee):
    """rho-zero-concentrated differential privacy.

    >>> ZCDP(0.1) + ZCDP(0.2)
    ZCDP(rho=0.3)
    >>> ZCDP(0.1).group(2)
    ZCDP(rho=0.4)
    """

    rho: Number
    neighbours: Relation = field(default=None, kw_only=True, repr=False)

    def __post_init__(self) -> None:
        _settle(self, "rho")

    def __add__(self, other: ZCDP) -> ZCDP:
        if not isinstance(other, ZCDP):
            return NotImplemented
        return ZCDP(exact(self.rho) + exact(other.rho), neighbours=_common(self, other))

    def repeat(self, times: int) -> ZCDP:
        """Composition adds rhos."""
        times = _count("times", times)
        return replace(self, rho=times * exact(self.rho))

    def group(self, size: int) -> ZCDP:
        """k^2 rho."""
        size = _count("size", size)
        return replace(self, rho=size * size * exact(self.rho))

    def to_approx(self, delta: Number) -> ApproxDP:
        """min over orders of rho order + ln(1 / (order delta)) / (order - 1) + ln(1 - 1 / order).

        >>> round(ZCDP(0.5).to_approx(1e-6).epsilon, 5)
        5.22153
        """
        return ApproxDP(convert.zcdp_to_approx(exact(self.rho), exact(delta)), delta, neighbours=self.neighbours)


@dataclass(frozen=True, slots=True, eq=False)
class GaussianDP(Guarantee):
    """mu-Gaussian differential privacy.  Its square is kept exactly, since squares add.

    >>> GaussianDP(3) + GaussianDP(4)
    GaussianDP(mu=5.0)
    """

    mu: Number
    neighbours: Relation = field(default=None, kw_only=True, repr=False)
    square: Fraction = field(default=Fraction(-1), kw_only=True, repr=False)

    def __post_init__(self) -> None:
        _settle(self, "mu")
        if self.square < 0:
            object.__setattr__(self, "square", exact(self.mu) ** 2)
        agrees = exact(self.mu) == exact(convert.root_up(self.square))
        require(agrees, "mu to be the root of square (use from_square)", mu=self.mu, square=self.square)

    @classmethod
    def from_square(cls, square: Number, *, neighbours: Relation = None) -> GaussianDP:
        """The guarantee with mu^2 = square, exactly; mu is printed rounded up."""
        value = exact(square)
        require(value >= 0, "square >= 0", square=square)
        return cls(convert.root_up(value), neighbours=neighbours, square=value)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, GaussianDP) and self.square == other.square and self.neighbours is other.neighbours

    def __hash__(self) -> int:
        return hash((self.square, self.neighbours))

    def __add__(self, other: GaussianDP) -> GaussianDP:
        if not isinstance(other, GaussianDP):
            return NotImplemented
        return GaussianDP.from_square(self.square + other.square, neighbours=_common(self, other))

    def repeat(self, times: int) -> GaussianDP:
        """Composition adds squares."""
        times = _count("times", times)
        return GaussianDP.from_square(times * self.square, neighbours=self.neighbours)

    def group(self, size: int) -> GaussianDP:
        """k mu."""
        size = _count("size", size)
        return GaussianDP.from_square(size * size * self.square, neighbours=self.neighbours)

    def to_zcdp(self) -> ZCDP:
        """rho = mu^2 / 2."""
        return ZCDP(self.square / 2, neighbours=self.neighbours)

    def to_approx(self, delta: Number) -> ApproxDP:
        """The root of Phi(mu/2 - epsilon/mu) - e^epsilon Phi(-mu/2 - epsilon/mu) = delta, from above."""
        epsilon = convert.gaussian_to_approx(self.square, exact(delta))
        return ApproxDP(epsilon, delta, neighbours=self.neighbours)


@dataclass(frozen=True, slots=True)
class RenyiDP(Guarantee):
    """(order, epsilon)-Renyi differential privacy, at one order.

    >>> RenyiDP(2, 0.5) + RenyiDP(2, 0.25)
    RenyiDP(order=2.0, epsilon=0.75)
    """

    order: Number
    epsilon: Number
    neighbours: Relation = field(default=None, kw_only=True, repr=False)

    def __post_init__(self) -> None:
        require(exact(self.order) > 1, "order > 1", order=self.order)
        _settle(self, "order")
        _settle(self, "epsilon")

    def __add__(self, other: RenyiDP) -> RenyiDP:
        if not isinstance(other, RenyiDP):
            return NotImplemented
        require(exact(self.order) == exact(other.order), "equal orders", left=self.order, right=other.order)
        return replace(self, epsilon=exact(self.epsilon) + exact(other.epsilon), neighbours=_common(self, other))

    def repeat(self, times: int) -> RenyiDP:
        """Composition adds epsilons at one order."""
        times = _count("times", times)
        return replace(self, epsilon=times * exact(self.epsilon))

    def group(self, size: int) -> RenyiDP:
        """Refused: one order is not enough to bound a path."""
        raise UnsupportedError("group privacy of RenyiDP needs the whole curve; use ZCDP")

    def to_approx(self, delta: Number) -> ApproxDP:
        """epsilon + ln(1 / (order delta)) / (order - 1) + ln(1 - 1 / order)."""
        epsilon = convert.renyi_to_approx(exact(self.order), exact(self.epsilon), exact(delta))
        return ApproxDP(epsilon, delta, neighbours=self.neighbours)


def _implies(a: Guarantee, b: Guarantee) -> bool:
    """a implies b, by the strongest conversion we can prove; False means not proven."""
    match a, b:
        case (ApproxDP(delta=0.0), _):
            return _implies(PureDP(a.epsilon), b)
        case (_, ApproxDP(delta=0.0)):
            return _implies(a, PureDP(b.epsilon))
        case (PureDP(), PureDP()):
            return exact(a.epsilon) <= exact(b.epsilon)
        case (ZCDP(), ZCDP()):
            return exact(a.rho) <= exact(b.rho)
        case (GaussianDP(), GaussianDP()):
            return a.square <= b.square
        case (RenyiDP(), RenyiDP()):
            return exact(a.order) >= exact(b.order) and exact(a.epsilon) <= exact(b.epsilon)
        case (ZCDP(), RenyiDP()):
            return exact(a.rho) * exact(b.order) <= exact(b.epsilon)
        case (ApproxDP(), ApproxDP()):
            return exact(a.delta) <= exact(b.delta) and exact(a.to_approx(b.delta).epsilon) <= exact(b.epsilon)
        case (_, ApproxDP()):
            return exact(a.to_approx(b.delta).epsilon) <= exact(b.epsilon)
        case (PureDP() | GaussianDP(), ZCDP()):
            return exact(a.to_zcdp().rho) <= exact(b.rho)
        case (PureDP(), GaussianDP()):
            return a.to_gaussian().square <= b.square
        case (PureDP(), RenyiDP()):
            return exact(a.epsilon) <= exact(b.epsilon) or _implies(a.to_zcdp(), b)
        case (GaussianDP(), RenyiDP()):
            return _implies(a.to_zcdp(), b)
        case _:
            return False
