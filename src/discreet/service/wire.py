"""Requests and replies as they are on the wire: closed models, padded bodies, forms of a table.

A price is `epsilon` (a number, or text: "0.1") for pure noise, or `budget`, one of {"epsilon", "delta"},
{"epsilon"}, {"rho"} and {"mu"}.  A number means the decimal it prints.  What a model does not know is refused.

Replies that follow a read of private rows are padded: each released number counts as `WIDEST` characters, and the
whole is filled up to a multiple of `BLOCK` bytes, so that digits do not show in the length of an encrypted reply.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, StrictBool, StrictFloat, StrictInt, StrictStr

from discreet.errors import ParameterError
from discreet.ledger.amount import LARGEST, LONGEST
from discreet.privacy.guarantee import ZCDP, ApproxDP, GaussianDP, Guarantee, PureDP
from discreet.privacy.number import exact

if TYPE_CHECKING:
    import pyarrow as pa

BLOCK = 1024  # bytes
WIDEST = 26  # characters of a number in JSON: a float has at most 24, an integer of 64 bits 20
JSON, ARROW = "application/json", "application/vnd.apache.arrow.stream"
PARQUET, CSV = "application/vnd.apache.parquet", "text/csv"
HTML = "text/html"

LARGEST_ERROR = 1e300  # that an epsilon is searched for: above it there is nothing to search


def _kept(amount: float | str) -> float | str:
    """Refuse an amount that no ledger keeps, before anything computes with its thousands of digits."""
    try:
        number = exact(amount)
    except ParameterError:
        return amount  # the guarantee made of it refuses it, in the words of the library
    if abs(number) > LARGEST or number.denominator.bit_length() > LONGEST:
        raise ValueError(f"an amount is at most 2^64, and its denominator has at most {LONGEST} bits")
    return amount


Amount = Annotated[
    StrictInt | StrictFloat | Annotated[StrictStr, Field(max_length=100)],
    AfterValidator(_kept),
    Field(examples=[0.1, "0.1"]),
]
Bound = Annotated[StrictInt, Field(ge=1, le=1_000_000_000)]
Name = Annotated[StrictStr, Field(min_length=1, max_length=200)]
Reason = Annotated[StrictStr, Field(min_length=1, max_length=10_000)]


class Closed(BaseModel):
    """A model that refuses what it does not know."""

    model_config = ConfigDict(extra="forbid")


class BudgetBody(Closed):
    """A guarantee: epsilon and delta, epsilon, rho or mu.

    >>> BudgetBody(epsilon="0.5", delta=1e-6).guarantee()
    ApproxDP(epsilon=0.5, delta=1e-06)
    """

    epsilon: Amount | None = None
    delta: Amount | None = None
    rho: Amount | None = None
    mu: Amount | None = None

    def guarantee(self) -> Guarantee:
        """The guarantee that is meant."""
        match self.epsilon, self.delta, self.rho, self.mu:
            case epsilon, None, None, None if epsilon is not None:
                return PureDP(epsilon)
            case epsilon, delta, None, None if epsilon is not None and delta is not None:
                return ApproxDP(epsilon, delta)
            case None, None, rho, None if rho is not None:
                return ZCDP(rho)
            case None, None, None, mu if mu is not None:
                return GaussianDP(mu)
            case _:
                raise ParameterError("need a budget of epsilon and delta, epsilon alone, rho alone or mu alone")


class Priced(Closed):
    """What has a price: `epsilon` or `budget`, and not both."""

    epsilon: Amount | None = None
    budget: BudgetBody | None = None

    def price(self) -> dict[str, object]:
        """The price as the curator takes it."""
        if (self.epsilon is None) == (self.budget is None):
            raise ParameterError("need one of epsilon and budget")
        if self.budget is not None:
            return {"budget": self.budget.guarantee()}
        PureDP(self.epsilon)  # type: ignore[arg-type]  # a number that is none is refused here
        return {"epsilon": self.epsilon}

    def document(self) -> dict[str, object]:
        """The request, JSON-ready, without what was not said."""
        return self.model_dump(mode="json", exclude_none=True)


class Asked(Priced):
    """What explain and ask have in common."""

    question: Annotated[StrictStr, Field(min_length=1, max_length=100_000)]
    beta: Annotated[StrictFloat, Field(gt=0, lt=1)] = 0.05
    rows_per_unit: Bound | None = None
    groups_per_unit: Bound | None = None

    def bounds(self) -> dict[str, int | None]:
        """The bounds on one unit that this question asks for."""
        return {"rows_per_unit": self.rows_per_unit, "groups_per_unit": self.groups_per_unit}


class Explain(Asked):
    """A question to be explained, for a price or for an error."""

    error: Annotated[StrictInt | StrictFloat, Field(gt=0, le=LARGEST_ERROR)] | None = None

    def wanted(self) -> dict[str, object]:
        """The price, or the error that one is to be found for."""
        if self.error is None:
            return self.price()
        if self.epsilon is not None or self.budget is not None:
            raise ParameterError("need one of epsilon, budget and error")
        return {"error": self.error}


class Ask(Asked):
    """A question to be answered."""

    fresh: StrictBool = False
    whole_counts: StrictBool = False


def read_budget(document: object) -> Guarantee:
    """A guarantee from JSON.

    >>> read_budget({"rho": "0.005"})
    ZCDP(rho=0.005)
    """
    if not isinstance(document, Mapping):
        raise ParameterError("need a budget such as {'epsilon': 0.1}")
    from pydantic import ValidationError

    try:
        return BudgetBody(**document).guarantee()
    except (ValidationError, TypeError):
        raise ParameterError("need a budget of epsilon and delta, epsilon alone, rho alone or mu alone") from None


def padded(body: bytes, block: int = BLOCK) -> bytes:
    """The body with spaces to a multiple of `block` bytes: JSON does not mind them.

    >>> len(padded(b'{"n": 12}')), len(padded(b'{"n": 1234567}'))
    (1024, 1024)
    """
    return body + b" " * (-len(body) % block)


def answer_bytes(document: Mapping[str, object]) -> bytes:
    """An answer as JSON, of a length that its numbers do not change.

    >>> small, large = ({"rows": [{"n": n}], "released": {"noisy": [[n]]}} for n in (1, -(10**17)))
    >>> len(answer_bytes(small)) == len(answer_bytes(large))
    True
    """
    widths: list[int] = []
    sent = {name: _finite(part, widths if name in ("rows", "released") else []) for name, part in document.items()}
    body = json.dumps(sent, default=str, allow_nan=False).encode()
    return padded(body + b" " * sum(WIDEST - width for width in widths if width < WIDEST))


def dumped(document: object) -> bytes:
    """JSON, with numbers that are none as null and dates as text."""
    return json.dumps(_finite(document, []), default=str, allow_nan=False).encode()


def _finite(value: object, widths: list[int]) -> object:
    """The value as JSON can say it; `widths` takes the characters of each number, also of one that is missing."""
    if isinstance(value, (str, bool)):
        return value
    if isinstance(value, float) and math.isfinite(value):
        widths.append(len(float.__repr__(value)))  # as json writes it
        return value
    if value is None or isinstance(value, float):
        widths.append(4)
        return None
    if isinstance(value, int):
        widths.append(len(int.__repr__(value)))
        return value
    if isinstance(value, (list, tuple)):
        return [_finite(item, widths) for item in value]
    if isinstance(value, (dict, Mapping)):
        return {str(key): _finite(item, widths) for key, item in value.items()}
    return value


def accepted(header: str | None, offered: tuple[str, ...]) -> str | None:
    """The first form that is offered among those a client takes, in its order; None if there is none.

    >>> accepted("application/vnd.apache.parquet, application/json;q=0.5", (JSON, ARROW, PARQUET))
    'application/vnd.apache.parquet'
    >>> accepted("*/*", (JSON, ARROW)), accepted("image/png", (JSON,))
    ('application/json', None)
    """
    wishes = []
    for place, part in enumerate((header or "*/*").split(",")[:20]):
        kind, *parameters = (piece.strip().lower() for piece in part.split(";"))
        quality = next((piece[2:] for piece in parameters if piece.startswith("q=")), "1")
        try:
            weight = float(quality)
        except ValueError:
            weight = 0.0
        wishes.append((-weight, place, kind))
    for weight, _, kind in sorted(wishes):
        for form in offered:
            if weight < 0 and kind in (form, "*/*", f"{form.partition('/')[0]}/*"):
                return form
    return None


def table_bytes(table: pa.Table, form: str) -> bytes:
    """An Arrow table as an Arrow stream, Parquet or CSV, without what would tell the host or the time."""
    import pyarrow as pa

    sink = pa.BufferOutputStream()
    if form == ARROW:
        with pa.ipc.new_stream(sink, table.schema) as writer:
            writer.write_table(table)
    elif form == PARQUET:
        import pyarrow.parquet as pq

        pq.write_table(table, sink, compression="none", use_dictionary=False, write_statistics=False)
    else:
        import pyarrow.csv as pc

        pc.write_csv(table, sink)
    return sink.getvalue().to_pybytes()
