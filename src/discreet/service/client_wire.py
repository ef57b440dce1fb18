"""What a client says and hears: prices as JSON, declarations as tables, receipts.

A table of a client has no source: it plans exactly as the service does, and cannot read a row.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, replace
from typing import TYPE_CHECKING
from urllib.parse import quote

from discreet._version import __version__
from discreet.curator.plan import added_or_removed
from discreet.data.domain import Domain
from discreet.data.table import Table
from discreet.errors import ParameterError, ServiceError, UnsupportedError, require
from discreet.ledger import Receipt
from discreet.privacy.guarantee import ZCDP, ApproxDP, Guarantee, PureDP
from discreet.privacy.number import Number, exact, tidy

if TYPE_CHECKING:
    from discreet.composition.price import Price
    from discreet.service.client_connection import Connection

_DECLARED = ("rows_per_unit", "groups_per_unit", "n", "version", "public")


def declarations(connection: Connection) -> dict[str, Table]:
    """The tables that this token may ask about, by name, as their steward declared them."""
    listed = connection.get("/v1/datasets").get("datasets")
    if not isinstance(listed, list):
        raise _unreadable("datasets")
    names = [str(entry["name"]) for entry in listed if isinstance(entry, dict) and "name" in entry]
    return {name: declared(connection.get(f"/v1/datasets/{quote(name, safe='')}")) for name in names}


def declared(entry: Mapping[str, object]) -> Table:
    """One table from its public declaration.

    >>> columns = {"age": {"type": "integer", "low": 0, "high": 119}}
    >>> declared({"name": "people", "unit": None, "version": 2, "columns": columns})
    Table(NoneType, unit=None, rows_per_unit=1, groups_per_unit=1)
    """
    columns, unit = entry.get("columns"), entry.get("unit")
    if not isinstance(columns, dict) or not (unit is None or isinstance(unit, str)):
        raise _unreadable("a declaration")
    rest = {name: entry[name] for name in _DECLARED if entry.get(name) is not None}
    return Table(None, domain=Domain.from_dict(columns), unit=unit, **rest)  # type: ignore[arg-type]


def price_body(epsilon: Number | None, budget: Guarantee | None) -> dict[str, object]:
    """A price as JSON: numbers that print exactly, fractions as text.

    >>> price_body("1/3", None), price_body(None, ApproxDP(1, 1e-6))
    ({'epsilon': '1/3'}, {'budget': {'epsilon': 1.0, 'delta': 1e-06}})
    """
    if (epsilon is None) == (budget is None):
        raise ParameterError("need epsilon=... (pure mechanisms) or budget=... (any guarantee), and only one of them")
    if epsilon is not None:
        return {"epsilon": _number(epsilon)}
    assert budget is not None
    added_or_removed(budget)
    if not isinstance(budget, PureDP | ApproxDP | ZCDP):
        raise UnsupportedError(f"a question is paid for in PureDP, ApproxDP or ZCDP, got {type(budget).__name__}")
    names = [one.name for one in fields(budget) if one.name != "neighbours"]
    return {"budget": {name: _number(getattr(budget, name)) for name in names}}


def error_body(error: Number | None) -> float | None:
    """An error as JSON knows it: here and at the service the same number.

    >>> from fractions import Fraction
    >>> error_body(Fraction(7, 2)), error_body(100), error_body(None)
    (3.5, 100.0, None)
    """
    try:
        return None if error is None else float(exact(error))
    except OverflowError:
        raise ParameterError("need an error that a float can hold") from None


def unlabelled(budget: Guarantee | None) -> Guarantee | None:
    """The same promise as it is sent: without its relation, which is one unit added or removed and was checked."""
    if isinstance(budget, PureDP | ApproxDP | ZCDP):
        added_or_removed(budget)
        return replace(budget, neighbours=None)
    return budget


def _number(value: Number) -> float | str:
    found = tidy(exact(value))
    return found if isinstance(found, float) else str(found)


def receipt(told: object, price: Price) -> Receipt:
    """The receipt of a reply, at the price that was planned."""
    match told:
        case {"id": int(number), "hash": str(mark), **rest}:
            time, replayed = rest.get("time"), rest.get("replayed")
            return Receipt(id=number, time=str(time or ""), price=price, hash=mark, replayed=replayed is True)
        case _:
            raise _unreadable("a receipt")


def same_version(told: object) -> None:
    """Refuse a service of another version: what it releases is read with the plan that it was made by."""
    if told != __version__:
        shown = told if isinstance(told, str) and len(told) <= 40 and told.isprintable() else "an unknown version"
        raise ServiceError(
            f"the service runs discreet {shown} and this is {__version__};"
            " a client reads answers with the plan that made them: install the same version",
            kind="version",
        )


def mine(analyst: str | None) -> None:
    """Refuse to ask in another's name."""
    if analyst is not None:
        raise UnsupportedError("a service knows who asks by the token alone: leave analyst out")


def counted(name: str, value: int | None) -> None:
    """An integer from 1, where one is given."""
    if value is not None:
        require(type(value) is int and value >= 1, f"an integer {name} >= 1", **{name: value})


def _unreadable(what: str) -> ServiceError:
    return ServiceError(f"the reply holds no {what} that this client can read", kind="unreadable", charged=None)
