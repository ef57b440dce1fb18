"""Every page of the console, in one table.

What they show of tables, budgets and people comes from the JSON API: a script can fetch it too, and what a visitor may
see is decided there.  Of the library they use what is the same for everybody: the names of its models, and how an
answer is drawn.  They load nothing from elsewhere, and the main paths need no script.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from discreet.service import log
from discreet.service.console import approvals, ask, audit, budget, datasets, door, download, orders, steward
from discreet.service.console.files import static
from discreet.service.console.visit import Handler, Visit, go, signed_in

if TYPE_CHECKING:
    from fastapi import APIRouter
    from starlette.responses import Response
    from starlette.types import ASGIApp


async def home(visit: Visit) -> Response:
    """Auditors begin with the budget, everybody else with the datasets."""
    return go("/budget" if visit.role == "auditor" else "/datasets")


PAGES: list[tuple[str, str, Handler]] = [
    ("GET", "/", home),
    ("POST", "/signout", door.sign_out),
    ("GET", "/datasets", datasets.datasets),
    ("GET", "/datasets/{name}", datasets.dataset),
    ("GET", "/datasets/{name}/mock", datasets.mock),
    ("GET POST", "/ask", ask.ask),
    ("POST", "/ask/price", ask.price),
    ("POST", "/ask/answer", ask.answer),
    ("POST", "/ask/file", download.download),
    ("GET POST", "/budget", budget.budget),
    ("GET", "/budget/report", budget.report),
    ("GET POST", "/releases", orders.releases),
    ("GET POST", "/models", orders.models),
    ("GET", "/jobs/{id}", orders.job),
    ("POST", "/jobs/{id}/cancel", orders.cancel),
    ("GET", "/jobs/{id}/result", orders.result),
    ("GET", "/jobs/{id}/synthetic", orders.synthetic),
    ("GET", "/jobs/{id}/report", orders.report),
    ("GET POST", "/register", steward.register),
    ("GET POST", "/caps", steward.caps),
    ("GET", "/approvals", approvals.approvals),
    ("POST", "/approvals/{id}", approvals.decide),
    ("GET POST", "/tokens", steward.tokens),
    ("GET POST", "/tokens/{id}/revoke", steward.revoke),
    ("GET POST", "/audit", audit.audit),
]


def router(app: ASGIApp) -> APIRouter:
    """The pages of an app, for `app.include_router`; they are no part of its API and not in its schema."""
    from fastapi import APIRouter

    made = APIRouter(include_in_schema=False)
    made.add_route("/signin", log.page(door.door(app)), methods=["GET", "POST"], include_in_schema=False)
    made.add_route("/static/{name}", static, methods=["GET"], include_in_schema=False)
    for methods, path, handler in PAGES:
        made.add_route(path, log.page(signed_in(app, handler)), methods=methods.split(), include_in_schema=False)
    return made
