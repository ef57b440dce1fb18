"""Who may do what: one table, and one place where it is enforced.

    steward    everything
    analyst    the datasets allowed to them: explain, ask, jobs; their own entries of the ledger and their own jobs
    auditor    declarations, budgets, the whole ledger and its verification, audits; asks nothing

Every route of the API is guarded by `guard`, which looks the route's template up in `TABLE`: a route without an
entry is refused to everybody.  Identity comes from the bearer token and from nothing else that a request says.  A
dataset, job or token that somebody may not see is answered like one that is not there.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from starlette.requests import Request

from discreet.service import tokens
from discreet.service.problems import Problem
from discreet.service.tokens import Token

if TYPE_CHECKING:
    from fastapi import FastAPI
    from starlette.routing import BaseRoute

OPEN = frozenset({"anybody"})
STEWARD = frozenset({"steward"})
READERS = frozenset({"steward", "auditor"})
ASKERS = frozenset({"steward", "analyst"})
EVERYBODY = frozenset({"steward", "analyst", "auditor"})

TABLE: dict[tuple[str, str], frozenset[str]] = {
    ("GET", "/v1/health"): OPEN,
    ("GET", "/v1/ready"): OPEN,
    ("GET", "/v1/openapi.json"): OPEN,
    ("GET", "/metrics"): READERS,
    ("GET", "/v1/me"): EVERYBODY,
    ("POST", "/v1/session"): EVERYBODY,
    ("DELETE", "/v1/session"): EVERYBODY,
    ("GET", "/v1/datasets"): EVERYBODY,
    ("POST", "/v1/datasets"): STEWARD,
    ("GET", "/v1/datasets/{name}"): EVERYBODY,
    ("GET", "/v1/datasets/{name}/mock"): EVERYBODY,
    ("POST", "/v1/explain"): ASKERS,
    ("POST", "/v1/ask"): ASKERS,
    ("POST", "/v1/jobs"): ASKERS,
    ("POST", "/v1/jobs/explain"): ASKERS,
    ("GET", "/v1/jobs"): ASKERS,
    ("GET", "/v1/jobs/{id}"): ASKERS,
    ("GET", "/v1/jobs/{id}/result"): ASKERS,
    ("GET", "/v1/jobs/{id}/synthetic"): ASKERS,
    ("DELETE", "/v1/jobs/{id}"): ASKERS,
    ("GET", "/v1/budget"): EVERYBODY,
    ("GET", "/v1/ledger"): EVERYBODY,
    ("GET", "/v1/ledger/verify"): READERS,
    ("GET", "/v1/ledger/anchor"): READERS,
    ("GET", "/v1/ledger/report"): READERS,
    ("POST", "/v1/caps"): STEWARD,
    ("GET", "/v1/tokens"): STEWARD,
    ("POST", "/v1/tokens"): STEWARD,
    ("DELETE", "/v1/tokens/{id}"): STEWARD,
    ("GET", "/v1/approvals"): ASKERS,
    ("POST", "/v1/approvals/{id}"): STEWARD,
    ("GET", "/v1/audit"): READERS,
}
WAITING = {("POST", "/v1/ask"), ("POST", "/v1/jobs"), ("GET", "/v1/jobs/{id}/synthetic")}  # in the runner's line


@dataclass(frozen=True, slots=True)
class Principal:
    """Who asks, as the token says.

    >>> Principal("ada", "analyst", ("visits",)).sees("payroll")
    False
    """

    name: str
    role: str
    datasets: tuple[str, ...] | None = None  # None: all of them
    token: Token | None = None

    def sees(self, dataset: str) -> bool:
        """Whether a dataset is there, for them."""
        return self.datasets is None or dataset in self.datasets

    def owns(self, principal: str) -> bool:
        """Whether what belongs to a principal is theirs to see: their own, and everything for a steward."""
        return self.role == "steward" or self.name == principal


def guard(request: Request) -> Principal | None:
    """Authenticate and authorise; every route of the API depends on it."""
    template = getattr(request.scope.get("route"), "path", "")
    roles = TABLE.get((request.method, template))
    if roles is None:
        raise Problem("forbidden", "this address is open to nobody")
    if roles is OPEN:
        return None
    principal = authenticated(request)
    request.state.principal = principal
    request.app.state.limits.take(principal.name)
    if principal.role not in roles:
        raise Problem("forbidden", f"this needs the role {' or '.join(sorted(roles))}")
    if (request.method, template) not in WAITING:
        request.app.state.limits.enter(principal.name)
        request.state.entered = principal.name  # until the reply has left
    return principal


def current(request: Request) -> Principal:
    """Who asks: what a route declares as its dependency, once `guard` has let the request in."""
    return request.state.principal


def authenticated(request: Request) -> Principal:
    """Who holds the bearer token of a request."""
    scheme, _, secret = request.headers.get("authorization", "").partition(" ")
    if scheme.lower() != "bearer" or not secret:
        raise Problem("unauthenticated", "no bearer token")
    provider = request.app.state.oidc
    found = provider.token(secret.strip()) if provider is not None and not secret.startswith("dct_") else None
    found = found or tokens.find(request.app.state.store, secret.strip())
    if found is None:
        raise Problem("unauthenticated", "the token is unknown, expired or revoked")
    return Principal(found.principal, found.role, found.datasets, found)


def routes(app: FastAPI) -> Iterator[BaseRoute]:
    """Every route of an app, also those of the routers it includes."""
    for route in app.routes:
        inner = getattr(route, "original_router", None)  # how newer versions of FastAPI include a router
        yield from [route] if inner is None else inner.routes
