"""Amounts of budget: exact rationals, written as text, added without growing for ever.

Theorem.  Let a total start at 0 and take in amounts by `total = add(total, amount)`.
Then the total is never less than the true sum; it equals it as long as the reduced
denominators stay within `LONGEST` bits; each later addition exceeds the truth by less
than 1 / GRAIN = 1e-60; and the denominator of the total never exceeds 2^LONGEST * GRAIN,
so that an addition takes constant time whatever was spent before.
Proof: docs/theory/ledger.md.
"""

from __future__ import annotations

import re
from fractions import Fraction
from functools import lru_cache

from discreet.composition.price import Price
from discreet.errors import LedgerError, ParameterError, require
from discreet.privacy.guarantee import ZCDP, ApproxDP, Guarantee, PureDP
from discreet.privacy.neighbours import RELATIONS
from discreet.privacy.number import exact

LONGEST = 1024  # bits of a denominator that is kept as it is
GRAIN = 10**60  # longer ones are rounded up to a multiple of 1 / GRAIN
LARGEST = 2**64  # no cap is larger (`bounded`), so no amount need be

_AMOUNT = re.compile(r"[0-9]{1,1000}(/[1-9][0-9]{0,999})?", re.ASCII)
_CAPS: dict[str, tuple[type[Guarantee], tuple[str, ...]]] = {
    "PureDP": (PureDP, ("epsilon",)),
    "ApproxDP": (ApproxDP, ("epsilon", "delta")),
    "ZCDP": (ZCDP, ("rho",)),
}


def grains(amount: Fraction) -> Fraction:
    """The least multiple of 1 / GRAIN that is at least `amount`."""
    return Fraction(-(-amount.numerator * GRAIN // amount.denominator), GRAIN)


def add(total: Fraction, amount: Fraction) -> Fraction:
    """total + amount; where that has too long a denominator, the amount is rounded up first.

    >>> add(Fraction(1, 10), Fraction(2, 10))
    Fraction(3, 10)
    """
    if not amount:
        return total
    exactly = total + amount
    return exactly if exactly.denominator.bit_length() <= LONGEST else total + grains(amount)


def charge(spent: Price, price: Price) -> Price:
    """What is spent once `price` has been spent too; a lane without an epsilon stays closed."""
    closed = spent.epsilon is None or price.epsilon is None
    epsilon = None if closed else add(spent.epsilon, price.epsilon)  # type: ignore[arg-type]
    return Price(epsilon, add(spent.rho, price.rho), add(spent.delta, price.delta))


def settled(price: Price) -> Price:
    """The price as it is entered in the ledger: checked, and with denominators of bounded length.

    >>> settled(Price(Fraction(1), Fraction(0), Fraction(0)))
    Traceback (most recent call last):
    discreet.errors.ParameterError: need rho > 0 where epsilon > 0, got epsilon='1', rho='0'
    """
    epsilon, rho, delta = price.epsilon, price.rho, price.delta
    for name, amount in (("epsilon", epsilon), ("rho", rho), ("delta", delta)):
        rational = isinstance(amount, Fraction) or (amount is None and name == "epsilon")
        require(rational, f"{name} to be a Fraction", **{name: amount})
        require(amount is None or 0 <= amount <= LARGEST, f"0 <= {name} <= 2^64", **{name: _shown(amount)})
    require(delta < 1, "delta < 1", delta=str(delta))
    require(epsilon == 0 or rho > 0, "rho > 0 where epsilon > 0", epsilon=_shown(epsilon), rho=str(rho))
    require(rho > 0 or delta > 0, "a price above 0: a release without noise is not a release", price=price)
    return Price(None if epsilon is None else _short(epsilon), _short(rho), _short(delta))


def _short(amount: Fraction) -> Fraction:
    return amount if amount.denominator.bit_length() <= LONGEST else grains(amount)


def _shown(amount: Fraction | None) -> str:
    """An amount for a message; one that would fill a page, or that Python does not spell, by its length."""
    if amount is None:
        return "none"
    bits = amount.numerator.bit_length() + amount.denominator.bit_length()
    return str(amount) if bits <= LONGEST else f"a fraction of {bits} bits"


def write(price: Price) -> dict[str, str | None]:
    """The price as text: numerator/denominator, or null where there is no epsilon.

    >>> write(Price(None, Fraction(1, 8), Fraction(0)))
    {'epsilon': None, 'rho': '1/8', 'delta': '0'}
    """
    epsilon = None if price.epsilon is None else str(price.epsilon)
    return {"epsilon": epsilon, "rho": str(price.rho), "delta": str(price.delta)}


def read(record: object) -> Price:
    """Read back what `write` wrote, and nothing else."""
    match record:
        case {"epsilon": str() | None as epsilon, "rho": str(rho), "delta": str(delta), **rest} if not rest:
            return Price(None if epsilon is None else amount(epsilon), amount(rho), amount(delta))
        case _:
            raise LedgerError(f"ill-formed price {record!r}")


@lru_cache(maxsize=10_000)
def amount(text: str) -> Fraction:
    """One amount from its only spelling: lowest terms, no sign, no leading zero."""
    value = Fraction(text) if _AMOUNT.fullmatch(text) else None
    if value is None or str(value) != text:
        raise LedgerError(f"ill-formed amount {text[:60]!r}")
    return value


def amounts(cap: Guarantee) -> list[Fraction]:
    """The numbers of a cap, exactly.

    >>> amounts(PureDP(0.1))
    [Fraction(1, 10)]
    """
    return [exact(getattr(cap, name)) for name in _CAPS[type(cap).__name__][1]]


def bounded(cap: Guarantee) -> None:
    """Refuse a cap that is larger or longer than the ledger can read back.

    A cap that stands in the chain stands there for ever: one that `read_cap` refuses would close the ledger for good.

    >>> bounded(PureDP("1e20"))
    Traceback (most recent call last):
    discreet.errors.ParameterError: need epsilon <= 2^64 in a cap, got epsilon='100000000000000000000'
    """
    for name, amount in zip(_CAPS[type(cap).__name__][1], amounts(cap), strict=True):
        shown = {name: _shown(amount)}
        require(amount <= LARGEST, f"{name} <= 2^64 in a cap", **shown)
        short = amount.denominator.bit_length() <= LONGEST
        require(short, f"{name} with a denominator of at most {LONGEST} bits in a cap", **shown)


def write_cap(cap: Guarantee) -> dict[str, str | None]:
    """A cap as text.

    >>> write_cap(ApproxDP(1, 1e-6))
    {'kind': 'ApproxDP', 'epsilon': '1', 'delta': '1/1000000', 'neighbours': None}
    """
    kind = type(cap).__name__
    names = _CAPS[kind][1]
    relation = None if cap.neighbours is None else cap.neighbours.__name__
    return {"kind": kind} | {name: str(exact(getattr(cap, name))) for name in names} | {"neighbours": relation}


def read_cap(record: object) -> Guarantee:
    """Read back what `write_cap` wrote, and nothing else."""
    try:
        assert isinstance(record, dict)
        cls, names = _CAPS[record["kind"]]
        relation = None if record["neighbours"] is None else RELATIONS[record["neighbours"]]
        cap = cls(*(amount(record[name]) for name in names), neighbours=relation)  # type: ignore[call-arg]
    except (AssertionError, KeyError, TypeError, ParameterError):
        raise LedgerError(f"ill-formed cap {record!r}") from None
    if write_cap(cap) != record:
        raise LedgerError(f"ill-formed cap {record!r}")
    return cap
