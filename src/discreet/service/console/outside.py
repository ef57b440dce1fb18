"""What no page of ours could answer to a browser: an address that is none, a method, a form that is too large."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from discreet.service.console.page import render

if TYPE_CHECKING:
    from starlette.responses import Response
    from starlette.types import Scope

WORDS = {
    404: "no page has this address",
    405: "what is at this address is the answer to a form; fill in the form again",
}
PROGRAMS = ("/v1", "/metrics", "/static")  # what begins so is for programs


def page(scope: Scope, problem: Mapping[str, object], headers: Mapping[str, str]) -> Response | None:
    """The problem as a page, for whoever takes pages and is not at the API."""
    accepts = dict(scope.get("headers", [])).get(b"accept", b"")
    if b"text/html" not in accepts.lower() or scope.get("path", "").startswith(PROGRAMS):
        return None
    status = int(str(problem["status"]))
    told = {**problem, "detail": WORDS.get(status, problem.get("detail"))}
    found = render("problem.html", status=status, problem=told, me=None, csrf="", here="", done=None)
    found.headers.update(headers)
    return found
