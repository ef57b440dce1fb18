"""What a cap has left, and why a spend does not fit, in words for people (the rule: docs/theory/filters.md)."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import TYPE_CHECKING

from discreet.privacy.guarantee import ZCDP, Guarantee, PureDP

if TYPE_CHECKING:
    from discreet.composition.filter import Lanes

NAMES = {"epsilon": "pure lane", "rho": "zCDP lane"}
DIGITS = (6, 12, 17)  # more where two amounts would read the same
Amounts = Mapping[str, Fraction | None]  # by the name of the lane; None where it is closed


def lanes_of(cap: Guarantee | None, found: Lanes) -> dict[str, Fraction | None]:
    """The lanes that a cap has: one of PureDP and of ZCDP, both of ApproxDP."""
    both = {"epsilon": found.epsilon, "rho": found.rho}
    if isinstance(cap, PureDP):
        return {"epsilon": both["epsilon"]}
    return {"rho": both["rho"]} if isinstance(cap, ZCDP) else both


def left(lanes: Amounts) -> str:
    """What a next spend may cost, in either lane.

    >>> left({"epsilon": Fraction(1, 5), "rho": None}), left({"epsilon": None, "rho": None})
    ('epsilon 0.2 (zCDP lane: closed)', 'nothing')
    """
    open_ = [f"{name} {number(amount)}" for name, amount in lanes.items() if amount is not None]
    closed = [f"{NAMES[name]}: closed" for name, amount in lanes.items() if amount is None]
    return " or ".join(open_) + (f" ({', '.join(closed)})" if closed else "") if open_ else "nothing"


def refusal(asked: Lanes, remaining: Lanes, *, cap: Guarantee | None, whose: str) -> str:
    """Why a spend does not fit: what it asks for and what is left, in the lanes that it could be paid in.

    >>> from discreet.composition.filter import Lanes
    >>> from discreet.privacy.guarantee import ApproxDP
    >>> ask, has = Lanes(Fraction(9, 20), Fraction(81, 800), Fraction(0)), Lanes(Fraction(1, 5), None, Fraction(0))
    >>> refusal(ask, has, cap=ApproxDP(1, 1e-6), whose="unit 'patient'")
    "budget exhausted: this asks for epsilon 0.45, and epsilon 0.2 is left of unit 'patient' (zCDP lane: closed)"
    """
    wanted, lanes = {"epsilon": asked.epsilon, "rho": asked.rho}, lanes_of(cap, remaining)
    pairs = {name: (wanted[name], amount) for name, amount in lanes.items() if wanted[name] is not None}
    open_ = {name: pair for name, pair in pairs.items() if pair[1] is not None}
    asks = [f"{name} {_beside(*pair)}" for name, pair in (open_ or pairs).items()]
    has = [f"{name} {_beside(amount, price)}" for name, (price, amount) in open_.items()]
    said, held = " or ".join(asks), " or ".join(has) or f"no {' or '.join(pairs)}"
    if asked.delta > 0:
        said += f" with delta {_beside(asked.delta, remaining.delta)}"
        held += f" with delta {_beside(remaining.delta, asked.delta)}"
    others = {name: amount for name, amount in lanes.items() if name not in open_} if len(lanes) > 1 else {}
    notes = [f"{NAMES[name]}: {_state(name, amount)}" for name, amount in others.items()]
    beside = f" ({', '.join(notes)})" if notes else ""
    return f"budget exhausted: this asks for {said}, and {held} is left of {whose}{beside}"


def number(amount: Fraction, digits: int = DIGITS[0]) -> str:
    """An amount for people.

    >>> number(Fraction(1, 3)), number(Fraction(1, 2))
    ('0.333333', '0.5')
    """
    return f"{float(amount):.{digits}g}"


def _state(name: str, amount: Fraction | None) -> str:
    return "closed" if amount is None else f"{name} {number(amount)}"


def _beside(amount: Fraction | None, other: Fraction | None) -> str:
    """An amount with as many digits as tell it from another."""
    assert amount is not None
    apart = (digits for digits in DIGITS if other is None or number(amount, digits) != number(other, digits))
    return number(amount, next(apart, DIGITS[-1]))
