"""Asking: the price and the error bars while one writes, a confirmation that says what it costs, the answer.

Nothing is spent before the second button.  The confirmation carries a key, so that a form that is sent twice is
charged once and shows the same numbers again.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from urllib.parse import quote

from starlette.concurrency import run_in_threadpool
from starlette.responses import Response

from discreet.service.console import forms
from discreet.service.console.api import Declined
from discreet.service.console.gauge import change
from discreet.service.console.page import fragment, listed, mapped, narrower
from discreet.service.console.picture import Picture, picture
from discreet.service.console.visit import Visit

FIELDS = ("question", "currency", "amount", "delta", "rows_per_unit", "groups_per_unit")
SENT = (*FIELDS, "body")  # with the body of one that was approved, where there is one
REFUSED = (400, 404, 409)  # what is wrong with a question, and not with who asks or when
PICTURED = 500  # rows of an answer that is drawn; more would show nothing
DRAWN, DRAWN_EACH = 49_152, 2_048  # bytes of two pictures, and more for each number in them
BLANK = dict.fromkeys(FIELDS, "") | {"currency": "epsilon", "amount": "0.1"}


async def ask(visit: Visit) -> Response:
    """The editor, with the price beside it; or the confirmation, when it is asked for."""
    if visit.request.method == "GET":
        given = {name: visit.request.query_params[name] for name in FIELDS if name in visit.request.query_params}
        return await _editor(visit, BLANK | given, explained=None, problem=None)
    try:
        body = forms.question(visit.form)
        explained = await visit.api.post("/v1/explain", body)
    except Declined as error:
        if error.status not in REFUSED:
            raise
        return await _editor(visit, {**BLANK, **visit.form}, explained=None, problem=error.problem, status=error.status)
    if visit.form.get("step") != "confirm":
        return await _editor(visit, {**BLANK, **visit.form}, explained=explained, problem=None)
    return visit.page(
        "confirm.html",
        order=_settled(visit.form, explained),
        explained=explained,
        change=change(explained),
        key=forms.new_key(),
    )


async def price(visit: Visit) -> Response:
    """What the present text would cost, as a piece of the page."""
    try:
        explained = await visit.api.post("/v1/explain", forms.question(visit.form))
    except Declined as error:
        if error.status not in REFUSED:
            raise
        return fragment("_price.html", explained=None, change=[], problem=error.problem)
    return fragment("_price.html", explained=explained, change=change(explained), problem=None)


async def answer(visit: Visit) -> Response:
    """Spend, and show what came of it."""
    order = {name: visit.form.get(name, "") for name in SENT}
    key, body = visit.form.get("key", ""), forms.question(visit.form)
    shown: dict[str, object] = {"order": order, "key": key, "changed": {name: order[name] for name in FIELDS}}
    try:
        reply = await visit.api.call("POST", "/v1/ask", body=body, key=key or None)
    except Declined as error:
        return visit.page("unanswered.html", status=error.status, problem=error.problem, **shown)
    document = reply.json()
    if reply.status_code == 202:
        more = {"approval": document.get("approval"), "place": "/ask/answer"}
        return visit.page("waiting.html", status=202, **shown, **more)
    drawn = await _picture(visit, document, body)
    head, rows = table(listed(document.get("rows")))
    shown |= {"answer": document, "head": head, "rows": rows, "picture": drawn}
    return visit.roomy_page("answer.html", shown, status=200, room=room(rows, drawn))


async def _editor(
    visit: Visit,
    form: Mapping[str, str],
    *,
    explained: Mapping[str, object] | None,
    problem: object,
    status: int = 200,
) -> Response:
    found = await visit.api.get("/v1/datasets")
    return visit.page(
        "ask.html",
        status=status,
        form=form,
        explained=explained,
        change=change(explained) if explained else [],
        problem=problem,
        datasets=listed(found.get("datasets")),
    )


def _settled(form: Mapping[str, str], explained: Mapping[str, object]) -> dict[str, str]:
    """The order as it will be sent; an error that was asked for has become the epsilon that reaches it."""
    order = {name: form.get(name, "") for name in FIELDS}
    if form.get("currency") == "error":
        order |= {"currency": "epsilon", "amount": repr(mapped(explained.get("price")).get("epsilon"))}
    return order


def table(rows: list[dict[str, object]]) -> tuple[list[tuple[str, bool]], list[list[dict[str, object]]]]:
    """Columns, with whether they are numbers with an interval, and cells with their intervals.

    Fractions are shown with as many decimals as tell the narrowest interval of their column; the files have them all.

    >>> table([{"ward": "surgery", "n": 7, "n_low": 4, "n_high": 10}])
    ([('ward', False), ('n', True)], [[{'value': 'surgery'}, {'value': 7, 'low': 4, 'high': 10}]])
    >>> table([{"cost": 1461.0725, "cost_low": 1400.5, "cost_high": 1521.25}])[1]
    [[{'value': '1,461', 'low': '1,400', 'high': '1,521'}]]
    """
    names = list(rows[0]) if rows else []
    measured = {name for name in names if {f"{name}_low", f"{name}_high"} <= set(names)}
    ends = {f"{name}_{end}" for name in measured for end in ("low", "high")}
    head = [(name, name in measured) for name in names if name not in ends]
    digits = {name: _decimals(row[f"{name}_low"], row[f"{name}_high"]) for row in rows[:1] for name in measured}
    for row in rows[1:]:
        digits = {name: max(most, _decimals(row[f"{name}_low"], row[f"{name}_high"])) for name, most in digits.items()}
    return head, [[_cell(row, name, digits.get(name)) for name, _ in head] for row in rows]


def room(rows: list[list[dict[str, object]]], shown: Picture | None) -> int:
    """The blanks that make a page as long as its widest numbers would: an encrypted length tells no digit."""
    numbers = [value for row in rows for cell in row if "low" in cell for value in cell.values()]
    digits = narrower(numbers)
    if len(rows) > PICTURED:
        return digits
    drawn = 0 if shown is None else len(shown.light) + len(shown.dark)
    return digits + max(0, DRAWN + DRAWN_EACH * len(numbers) - drawn)


def _decimals(low: object, high: object) -> int:
    """The decimals that tell the width of an interval to three digits; a whole number of them, and at most twelve."""
    if not isinstance(low, float) or not isinstance(high, float) or not 0 < high - low < math.inf:
        return 0
    return min(12, max(0, 2 - math.floor(math.log10(high - low))))


def _cell(row: Mapping[str, object], name: str, digits: int | None) -> dict[str, object]:
    if digits is None:
        return {"value": row[name]}
    found = {"value": row[name], "low": row[f"{name}_low"], "high": row[f"{name}_high"]}
    return {end: _rounded(value, digits) for end, value in found.items()}


def _rounded(value: object, digits: int) -> object:
    return f"{value:z,.{digits}f}" if isinstance(value, float) and math.isfinite(value) else value


async def _picture(visit: Visit, document: Mapping[str, object], body: Mapping[str, object]) -> Picture | None:
    """Drawn beside the event loop, a few at once, from the declarations of the tables that the question names."""
    if len(listed(document.get("rows"))) > PICTURED:
        return None
    question = str(body["question"]).lower()
    known = await visit.api.get("/v1/datasets")
    names = [str(one["name"]) for one in listed(known.get("datasets")) if str(one["name"]).lower() in question]
    declared = {name: await visit.api.get(f"/v1/datasets/{quote(name, safe='')}") for name in names}
    async with visit.request.app.state.drawing:
        return await run_in_threadpool(picture, document, body, declared)
