"""Every refusal as one shape: RFC 9457 problem details, built from public facts.

    type       urn:discreet:problem:<slug>, one of `SLUGS`
    title      the kind of problem, always the same words for one slug
    status     the HTTP status
    detail     a sentence: parameters, schema and budgets, and never a row, an answer or a token
    instance   the request's id, as in the log
    remedy     what to do about it, where the error says so

A budget's refusal carries `requested` and `remaining` besides.  What is over-long is cut and what looks like a
token is blotted out, so that no reply is a mirror of what was sent.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING

from discreet.composition.filter import Lanes
from discreet.composition.price import Price
from discreet.errors import (
    BudgetExhausted,
    DiscreetError,
    DomainError,
    EntropyError,
    LedgerError,
    ParameterError,
    UnsupportedError,
)
from discreet.ledger import Remainder
from discreet.service.log import request_id

if TYPE_CHECKING:
    from fractions import Fraction

    from starlette.responses import Response

URN = "urn:discreet:problem:"
MEDIA_TYPE = "application/problem+json"
LONGEST = 500  # characters of a detail
SLUGS: dict[str, tuple[int, str]] = {
    "parameter": (400, "A parameter lies outside its domain"),
    "domain": (400, "The question lies outside the declared domain"),
    "unsupported": (400, "No theorem here covers this"),
    "unreadable": (400, "The request cannot be read"),
    "unauthenticated": (401, "Who asks is not known"),
    "forbidden": (403, "This role may not do that"),
    "missing": (404, "There is nothing here"),
    "method": (405, "This address takes other methods"),
    "not-acceptable": (406, "No such form of the answer"),
    "conflict": (409, "The request contradicts an earlier one"),
    "budget-exhausted": (409, "The budget is exhausted"),
    "too-large": (413, "The request is too large"),
    "media-type": (415, "The body is of another kind"),
    "withheld": (424, "The answer is withheld, and paid for"),
    "too-many-requests": (429, "Too many requests"),
    "unavailable": (503, "The service cannot answer now"),
}
_REMEDIES = {
    "unauthenticated": "send the header Authorization: Bearer TOKEN",
    "budget-exhausted": "ask for less, or ask the steward for a larger allotment",
    "withheld": "ask the steward; what was charged stays charged",
}
_KINDS: list[tuple[type[Exception], str]] = [
    (ParameterError, "parameter"),
    (DomainError, "domain"),
    (UnsupportedError, "unsupported"),
    (BudgetExhausted, "budget-exhausted"),
    (LedgerError, "unavailable"),
    (EntropyError, "unavailable"),
    (DiscreetError, "withheld"),  # a run that failed: from where it is raised, private rows were in scope
]
_TOKEN = re.compile(r"dct_[0-9A-Za-z_-]*")


class Problem(Exception):
    """A refusal by its slug.

    >>> Problem("missing", "no dataset of this name").status
    404
    """

    def __init__(
        self,
        slug: str,
        detail: str,
        *,
        remedy: str | None = None,
        headers: Mapping[str, str] | None = None,
        **more: object,
    ) -> None:
        super().__init__(detail)
        self.slug, self.detail, self.remedy, self.more = slug, detail, remedy, more
        self.headers = dict(headers or {})

    @property
    def status(self) -> int:
        """The HTTP status."""
        return SLUGS[self.slug][0]


@contextmanager
def conflicts() -> Iterator[None]:
    """What the ledger refuses to a steward is a conflict; a ledger that failed has a cause, and stays a failure."""
    try:
        yield
    except LedgerError as error:
        if error.__cause__ is not None:
            raise
        raise Problem("conflict", str(error)) from None


def problem_of(error: BaseException) -> dict[str, object]:
    """The problem that tells of an error; one that we did not raise is told without its words.

    >>> from discreet.errors import require
    >>> try:
    ...     require(False, "0 < beta < 1", beta=2.0)
    ... except ParameterError as error:
    ...     found = problem_of(error)
    >>> found["type"], found["status"], found["detail"]
    ('urn:discreet:problem:parameter', 400, 'need 0 < beta < 1, got beta=2.0')
    """
    if isinstance(error, Problem):
        return _problem(error.slug, error.detail, remedy=error.remedy, **error.more)
    slug = next((slug for kind, slug in _KINDS if isinstance(error, kind)), None)
    if slug is None:
        return _problem("unavailable", "the service failed; see the operator log under this instance")
    if isinstance(error, BudgetExhausted):
        return _problem(slug, str(error), requested=amounts(error.requested), remaining=amounts(error.remaining))
    said = str(error)
    remedy = said.partition("; ")[2] if slug in ("domain", "unsupported") else ""
    return _problem(slug, said, remedy=remedy or None)


def _problem(slug: str, detail: str, *, remedy: str | None = None, **more: object) -> dict[str, object]:
    status, title = SLUGS[slug]
    found: dict[str, object] = {"type": URN + slug, "title": title, "status": status, "detail": said(detail)}
    found["instance"] = request_id()
    advice = remedy or _REMEDIES.get(slug)
    return found | ({} if advice is None else {"remedy": said(advice)}) | more


def said(text: str) -> str:
    """Text fit for a reply: not over-long, and without tokens.

    >>> said("no column 'dct_0011aabb_secret'")
    "no column 'dct_...'"
    """
    short = text if len(text) <= LONGEST else f"{text[:LONGEST]} ..."
    return _TOKEN.sub("dct_...", short)


def amounts(found: object) -> object:
    """A price or what is left of a budget, JSON-ready.

    >>> from fractions import Fraction
    >>> amounts(Price(Fraction(1, 2), Fraction(1, 8), Fraction(0)))
    {'epsilon': 0.5, 'rho': 0.125, 'delta': 0.0}
    """
    match found:
        case Price() | Lanes():
            given = {"epsilon": found.epsilon, "rho": found.rho, "delta": found.delta}
            return {name: None if amount is None else _float(amount) for name, amount in given.items()}
        case Remainder():
            left = amounts(found.lanes)
            assert isinstance(left, dict)
            return {"scope": found.account.scope, "name": found.account.name} | left
        case _:
            return str(found)


def _float(amount: Fraction) -> float:
    """The amount for people; the largest float there is where it is larger still: JSON knows no infinity."""
    try:
        return float(amount)
    except OverflowError:
        return sys.float_info.max


def response_of(problem: Mapping[str, object], *, headers: Mapping[str, str] | None = None, pad: int = 0) -> Response:
    """The HTTP response of a problem; padded to a multiple of `pad` bytes where it follows a read of private rows."""
    import json

    from starlette.responses import Response

    from discreet.service.wire import padded

    body = json.dumps({**problem, "instance": request_id() or problem.get("instance")}).encode()
    sent = dict(headers or {})
    if problem["status"] == 401:
        sent.setdefault("WWW-Authenticate", "Bearer")
    status = problem["status"]
    assert isinstance(status, int)
    return Response(padded(body, pad) if pad else body, status, sent, MEDIA_TYPE)
