"""Explain a question for nothing; ask it for its price.

A reply to `ask` that was charged for is one of two, an answer or word that it is withheld, and both are padded; the
runner hands them over at the end of their slot.
"""

from __future__ import annotations

import json
import secrets
from typing import Annotated

from fastapi import APIRouter, Depends, Header
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response

from discreet.curator.answer import from_bytes
from discreet.curator.plan import Plan
from discreet.ledger import Receipt
from discreet.service import accounts, approvals, metrics
from discreet.service.access import Principal, current
from discreet.service.problems import Problem, problem_of, response_of
from discreet.service.running.outcome import Answered, Order, Outcome, Refused, Withheld
from discreet.service.running.records import digest
from discreet.service.running.runner import Runner
from discreet.service.wire import ARROW, BLOCK, JSON, PARQUET, Ask, Explain, accepted, answer_bytes, dumped, table_bytes

router = APIRouter(tags=["questions"])
Who = Annotated[Principal, Depends(current)]
Key = Annotated[str | None, Header(alias="Idempotency-Key", min_length=1, max_length=200, pattern="^[!-~]+$")]


@router.post("/v1/explain")
def explain(request: Request, who: Who, body: Explain) -> Response:
    """Mechanism, error bars and price; the accounts before and after; nothing is read, nothing is spent."""
    desk, settings = request.app.state.desk, request.app.state.settings
    explanation, document = desk.explain(body, who)
    unit, tables = desk.charged(explanation.plan)
    forecast = accounts.forecast(desk.budget(unit), tables, who.name, explanation.plan.price)
    waits = {"needs_approval": approvals.needed(explanation.plan.price, settings.approval)}
    return Response(dumped(document | forecast | waits), media_type=JSON)


@router.post("/v1/ask")
async def ask(request: Request, who: Who, body: Ask, key: Key = None) -> Response:
    """Plan, spend, read, answer; or 202 where a steward must approve the price first."""
    form = accepted(request.headers.get("accept"), (JSON, ARROW, PARQUET))
    if form is None:
        raise Problem("not-acceptable", f"answers come as {JSON}, {ARROW} or {PARQUET}")
    use = key or f" {secrets.token_hex(16)}"  # no key begins with a space
    with request.app.state.limits.place(who.name):  # while it is planned; after that it waits in line
        step = await run_in_threadpool(request.app.state.desk.plan, body, who)
        settled = body.document() | {"question": str(step.query)}  # as read here, in the names of the declaration
        order = Order(kind="ask", principal=who.name, body=settled, key=key, tables=tuple(step.query.tables))
        waits = await run_in_threadpool(_waits, request, who, body, step, order, use)
    if waits is not None:
        return Response(dumped(waits), 202, media_type=JSON)
    outcome = await running(request).ask(order)
    await run_in_threadpool(_settled, request, step, order, use, outcome)
    return await run_in_threadpool(rendered, request, outcome, step, body, form)  # a wide answer takes a while


def running(request: Request) -> Runner:
    """The runner, once it has started."""
    if request.app.state.runner is None:
        raise Problem("unavailable", "nothing runs yet; nothing was spent")
    return request.app.state.runner


def _waits(request: Request, who: Principal, body: Ask, step: Plan, order: Order, use: str) -> object:
    """Where a request for approval stands, or None if none is needed: the answer is there, or was approved."""
    state = request.app.state
    if not approvals.needed(step.price, state.settings.approval):
        return None
    known = None if order.key is None else state.records.known(order)
    replied = known is not None and known.reply is not None and known.digest == digest(order)
    if replied or (not body.fresh and state.desk.answered(step, who)):
        return None
    running(request)  # else an approval would be used for nothing
    return approvals.granted(state.store, who.name, "ask", order.body, step.price, key=use)


def _settled(request: Request, step: Plan, order: Order, use: str, outcome: Outcome) -> None:
    """An approval that was used for nothing is there again."""
    state = request.app.state
    if approvals.needed(step.price, state.settings.approval):
        charged = not isinstance(outcome, Refused)
        approvals.settled(state.store, order.principal, "ask", order.body, key=use, charged=charged)


def rendered(request: Request, outcome: Outcome, step: Plan, body: Ask, form: str) -> Response:
    """The reply to an order."""
    kind = type(outcome).__name__.lower()
    metrics.ended(kind="ask", outcome=kind)
    if isinstance(outcome, Refused):
        return refusal(outcome)
    replayed = isinstance(outcome, Answered) and bool(_receipt(outcome)["replayed"])
    request.state.slot = None if replayed else request.app.state.settings.slot_of(step.query.tables)
    if isinstance(outcome, Withheld):
        return withheld()
    receipt = _receipt(outcome)
    headers = {"Discreet-Receipt": str(receipt["id"]), "Discreet-Cost": str(outcome.document["cost"])}
    if form == JSON:
        return Response(answer_bytes(outcome.document), headers=headers, media_type=JSON)
    paid = Receipt(id=int(str(receipt["id"])), time="", price=step.price, hash=str(receipt["hash"]))
    stored = json.dumps(outcome.document["released"]).encode()
    answer = from_bytes(step, stored, paid, beta=body.beta, whole_counts=body.whole_counts)
    content = table_bytes(answer.errors(), form)
    headers["Discreet-Padding"] = "." * (BLOCK - len(content) % BLOCK)  # the reply as a whole is padded
    return Response(content, headers=headers, media_type=form)


def refusal(outcome: Refused) -> Response:
    """The reply to an order that was refused, free."""
    problem = dict(outcome.problem)
    wait = problem.pop("retry_after", None)
    return response_of(problem, headers={} if wait is None else {"Retry-After": str(wait)})


def withheld() -> Response:
    """The one reply to everything that goes wrong after private rows were read."""
    return response_of(problem_of(Problem("withheld", "the answer is withheld; it was charged")), pad=BLOCK)


def _receipt(outcome: Answered) -> dict[str, object]:
    found = outcome.document["receipt"]
    assert isinstance(found, dict)
    return found
