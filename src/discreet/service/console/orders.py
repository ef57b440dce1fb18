"""Long orders: releases, synthetic data, models and audits.  Ordered, watched, fetched; the price is shown first."""

from __future__ import annotations

import json
from collections.abc import Mapping
from urllib.parse import quote

from starlette.responses import Response

from discreet.service.console import forms
from discreet.service.console.api import Declined
from discreet.service.console.datasets import KINDS, attachment
from discreet.service.console.gauge import change
from discreet.service.console.page import document, fragment, listed, mapped, narrower, padded
from discreet.service.console.visit import Visit, go

OVER = frozenset({"done", "withheld", "refused", "cancelled"})
KIND_OF_PAGE = {"/releases": ("synthesis", "release"), "/models": ("fit",)}
BLANK = {
    "currency": "rho", "amount": "0.005", "delta": "", "table": "", "columns": "", "method": "",
    "workload": "marginals", "ways": "2", "model": "LogisticRegression", "target": "",
    "parameters": "", "kind": "synthesis",
}  # fmt: skip


async def releases(visit: Visit) -> Response:
    """Releases and synthetic data: what was ordered, and a new order."""
    return await _orders(visit, "releases.html", "/releases")


async def models(visit: Visit) -> Response:
    """Models: what was fitted, and a new one."""
    from discreet.learning.stored import estimators

    return await _orders(visit, "models.html", "/models", models=estimators())


async def _orders(visit: Visit, template: str, place: str, **more: object) -> Response:
    """The list and the form; a filled form leads to its confirmation, and a confirmed one to its job."""
    problem, status = None, 200
    if visit.request.method == "POST":
        try:
            body = order(visit.form)
            if visit.form.get("step") == "send":
                made = await visit.api.call("POST", "/v1/jobs", body=body, key=visit.form.get("key") or None)
                told = made.json()
                if "id" in told:
                    return go(f"/jobs/{quote(str(told['id']), safe='')}")
                shown = {"approval": told.get("approval"), "place": place, "key": visit.form.get("key", "")}
                return visit.page("waiting.html", status=202, order=visit.form, **shown)
            told = await visit.api.post("/v1/jobs/explain", body)
            shown = {"body": body, "explained": told, "change": change(told), "place": place}
            return visit.page("confirm_order.html", key=forms.new_key(), **shown)
        except Declined as error:
            if error.status == 401:
                raise
            problem, status = error.problem, error.status
    tables = await visit.api.get("/v1/datasets")
    found = await visit.api.get("/v1/jobs")
    kinds = KIND_OF_PAGE[place]
    jobs = [job for job in listed(found.get("jobs")) if job.get("kind") in kinds]
    return visit.page(
        template,
        status=status,
        form={**BLANK, **visit.form},
        problem=problem,
        jobs=jobs,
        datasets=[one for one in listed(tables.get("datasets")) if not one.get("public")],
        **more,
    )


def order(form: forms.Form) -> dict[str, object]:
    """The body of `POST /v1/jobs`.

    >>> order({"kind": "synthesis", "table": "visits", "currency": "rho", "amount": "0.01", "columns": "age ward"})
    {'kind': 'synthesis', 'table': 'visits', 'budget': {'rho': '0.01'}, 'columns': ['age', 'ward']}
    >>> order({"kind": "release", "table": "visits", "currency": "epsilon", "amount": "0.1", "ways": "2"})["workload"]
    {'marginals': 2}
    """
    if form.get("body"):  # one that was approved is sent as it was, to the letter
        return forms.parsed(form["body"], "the order cannot be read")
    kind = form.get("kind", "")
    if kind not in ("release", "synthesis", "fit"):
        raise forms.refused("choose what to order")
    body: dict[str, object] = {"kind": kind, **forms.required(form, "table"), **forms.price(form)}
    columns = forms.words(form, "columns")
    match kind:
        case "synthesis":
            body |= ({"columns": columns} if columns else {}) | forms.optional(form, "method")
        case "release":
            body["workload"] = _workload(form, columns)
        case _:
            body |= forms.required(form, "model") | ({"columns": columns} if columns else {})
            body |= forms.optional(form, "target") | forms.parameters(form)
    return body


def _workload(form: forms.Form, columns: list[str]) -> dict[str, object]:
    match form.get("workload", "marginals"):
        case "marginals":
            return {"marginals": forms.integer(form, "ways"), **({"columns": columns} if columns else {})}
        case "thresholds" if len(columns) == 1:
            return {"thresholds": columns[0]}
        case "counts" if columns:
            return {"counts": columns}
        case _:
            raise forms.refused("name the columns: one for running counts, one or more for counts")


async def job(visit: Visit) -> Response:
    """One order: how far it is, and what came of it."""
    found, result = await _job(visit)
    shown = {"job": found, "result": result, "over": found.get("state") in OVER}
    room = narrower(value for row in listed(result.get("rows")) for value in row.values())
    if "fragment" in visit.request.query_params:
        return fragment("_job.html", room=room, **shown)
    place = "/models" if found.get("kind") == "fit" else "/audit" if found.get("kind") == "audit" else "/releases"
    return visit.roomy_page("job.html", shown | {"place": place, "here": place}, status=200, room=room)


async def _job(visit: Visit) -> tuple[dict[str, object], Mapping[str, object]]:
    path = _path(visit)
    found = await visit.api.get(path)
    if found.get("state") != "done":
        return found, {}
    return found, mapped(await visit.api.get(f"{path}/result"))


async def cancel(visit: Visit) -> Response:
    """Stop an order; a charge stands."""
    await visit.api.call("DELETE", _path(visit))
    return go(f"/jobs/{quote(visit.request.path_params['id'], safe='')}?done=cancelled")


async def result(visit: Visit) -> Response:
    """What an order made, as a file."""
    name = visit.request.query_params.get("file")
    if not name:
        reply = await visit.api.call("GET", f"{_path(visit)}/result", accept=KINDS["json"])
        told = reply.json()
        room = narrower(value for row in listed(mapped(told).get("rows")) for value in row.values())
        return attachment(padded(json.dumps(told, indent=2), room), "json", "result")
    stem, _, ending = name.rpartition(".")
    content = await visit.api.file(f"{_path(visit)}/result", query={"file": name})
    return attachment(content, ending or "json", stem or "result")


async def report(visit: Visit) -> Response:
    """The quality of synthetic data, as the page that was made with it; it carries its own style and no script."""
    return document(await visit.api.file(f"{_path(visit)}/result", query={"file": "report.html"}))


async def synthetic(visit: Visit) -> Response:
    """Rows drawn from a fitted model, as many as one likes: drawing is free."""
    asked = visit.request.query_params
    kind = asked.get("format", "csv") if asked.get("format", "csv") in ("csv", "parquet", "arrow") else "csv"
    query = {name: asked[name] for name in ("rows", "seed") if asked.get(name)} | {"format": kind}
    return attachment(await visit.api.file(f"{_path(visit)}/synthetic", query=query), kind, "synthetic")


def _path(visit: Visit) -> str:
    return f"/v1/jobs/{quote(visit.request.path_params['id'], safe='')}"
