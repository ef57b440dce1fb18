"""The steward's pages: register a table, set caps and allotments, issue and revoke tokens."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from urllib.parse import quote

from starlette.responses import Response

from discreet.service.console import forms
from discreet.service.console.api import Declined, declined
from discreet.service.console.gauge import gauges
from discreet.service.console.page import listed
from discreet.service.console.visit import Visit, go

TABLE = {
    "name": "", "source": "", "unit": "", "rows_per_unit": "1", "groups_per_unit": "1", "n": "", "version": "1",
    "public": "", "columns": "",
}  # fmt: skip
CAP = {"scope": "analyst", "name": "", "unit": "", "currency": "rho", "amount": "", "delta": "", "reason": ""}
TOKEN = {"principal": "", "role": "analyst", "datasets": "", "days": "30", "currency": "rho", "amount": "", "delta": ""}

CHANGED = (
    "a token was issued since this page was opened, perhaps by this very form; look at the list, and send it again"
)


async def register(visit: Visit) -> Response:
    """Declare a table: the public facts, which nobody reads off the data."""
    _stewards(visit)
    if visit.request.method == "GET":
        return visit.page("register.html", form=TABLE)
    try:
        await visit.api.post("/v1/datasets", declaration(visit.form))
    except Declined as error:
        return _again(visit, "register.html", TABLE, error)
    return go(f"/datasets/{quote(visit.form['name'].strip(), safe='')}?done=registered")


def declaration(form: forms.Form) -> dict[str, object]:
    """The body of `POST /v1/datasets`."""
    body = forms.required(form, "name") | forms.required(form, "source") | forms.optional(form, "unit")
    for name in ("rows_per_unit", "groups_per_unit", "n", "version"):
        if form.get(name, "").strip():
            body[name] = forms.integer(form, name)
    if form.get("public"):
        body["public"] = True
    return body | {"columns": forms.columns(form)}


async def caps(visit: Visit) -> Response:
    """Caps of units, of tables inside them, and allotments of analysts."""
    _stewards(visit)
    problem: Declined | None = None
    if visit.request.method == "POST":
        try:
            await visit.api.post("/v1/caps", cap(visit.form))
            return go("/caps?done=cap")
        except Declined as error:
            problem = error
    found = await visit.api.get("/v1/budget")
    return _again(visit, "caps.html", CAP, problem, units=gauges(found))


def cap(form: forms.Form) -> dict[str, object]:
    """The body of `POST /v1/caps`."""
    body = forms.required(form, "scope") | forms.required(form, "name") | forms.optional(form, "unit")
    return body | {"budget": forms.budget(form)} | forms.required(form, "reason")


async def tokens(visit: Visit) -> Response:
    """Who may come in; a new token is shown once, here."""
    problem, secret = None, None
    found = await visit.api.get("/v1/tokens")
    if visit.request.method == "POST":
        try:
            if visit.form.get("seen", seen(found)) != seen(found):
                raise declined(409, "conflict", "The list has changed", CHANGED)
            secret = await visit.api.post("/v1/tokens", token(visit.form))
        except Declined as error:
            problem = error
        found = await visit.api.get("/v1/tokens")
    tables = await visit.api.get("/v1/datasets")
    names = [str(one["name"]) for one in listed(tables.get("datasets"))]
    given = {} if secret is not None else visit.form
    shown = {"tokens": listed(found.get("tokens")), "datasets": names, "secret": secret, "seen": seen(found)}
    return _again(visit, "tokens.html", TOKEN, problem, given=given, **shown)


def token(form: forms.Form) -> dict[str, object]:
    """The body of `POST /v1/tokens`."""
    body: dict[str, object] = {**forms.required(form, "principal"), **forms.required(form, "role")}
    names = forms.words(form, "datasets")
    body |= {"days": forms.integer(form, "days")} | ({"datasets": names} if names else {})
    return body | ({"allotment": forms.budget(form)} if form.get("amount", "").strip() else {})


def seen(found: Mapping[str, object]) -> str:
    """What the form was filled in before: a form that is sent twice, or a page that is loaded again, is noticed."""
    ids = sorted(str(one.get("id")) for one in listed(found.get("tokens")))
    return hashlib.sha256(" ".join(ids).encode()).hexdigest()[:16]


async def revoke(visit: Visit) -> Response:
    """Take a token back, once that has been confirmed."""
    number = visit.request.path_params["id"]
    if visit.request.method == "POST":
        await visit.api.call("DELETE", f"/v1/tokens/{quote(number, safe='')}")
        return go("/tokens?done=revoked")
    found = listed((await visit.api.get("/v1/tokens")).get("tokens"))
    known = [one for one in found if one.get("id") == number]
    if not known:
        raise declined(404, "missing", "There is nothing here", "no token has this id")
    return visit.page("revoke.html", token=known[0], here="/tokens")


def _stewards(visit: Visit) -> None:
    """Show nobody a form that the API would not take from them."""
    if visit.role != "steward":
        raise declined(403, "forbidden", "This role may not do that", "this needs the role steward")


def _again(
    visit: Visit,
    template: str,
    blank: Mapping[str, str],
    error: Declined | None,
    *,
    given: Mapping[str, str] | None = None,
    **context: object,
) -> Response:
    """The form as it was filled in, with what is wrong; other problems are pages of their own."""
    if error is not None and error.status not in (400, 409):
        raise error
    form = {**blank, **(visit.form if given is None else given)}
    status, problem = (200, None) if error is None else (error.status, error.problem)
    return visit.page(template, status=status, form=form, problem=problem, **context)
