"""The description of the API for programs: what FastAPI derives from the routes, with our refusals and forms.

Every operation may be refused by a problem, of one shape; none answers with the framework's own validation errors.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from discreet.service.access import OPEN, TABLE
from discreet.service.problems import MEDIA_TYPE, SLUGS, URN
from discreet.service.wire import ARROW, CSV, HTML, JSON, PARQUET

if TYPE_CHECKING:
    from fastapi import FastAPI

BYTES = "application/octet-stream"
FORMS: dict[tuple[str, str], tuple[str, ...]] = {
    ("GET", "/metrics"): ("text/plain",),
    ("GET", "/v1/datasets/{name}/mock"): (JSON, ARROW, PARQUET, CSV),
    ("POST", "/v1/ask"): (JSON, ARROW, PARQUET),
    ("GET", "/v1/jobs/{id}/result"): (JSON, BYTES, HTML),
    ("GET", "/v1/jobs/{id}/synthetic"): (CSV, PARQUET, ARROW),
    ("GET", "/v1/ledger/report"): (JSON, HTML),
}
PROBLEM: dict[str, Any] = {
    "type": "object",
    "required": ["type", "title", "status", "detail", "instance"],
    "properties": {
        "type": {"type": "string", "enum": [URN + slug for slug in SLUGS]},
        "title": {"type": "string"},
        "status": {"type": "integer", "enum": sorted({status for status, _ in SLUGS.values()})},
        "detail": {"type": "string"},
        "instance": {"type": "string"},
        "remedy": {"type": "string"},
        "requested": {},
        "remaining": {},
    },
}


def described(app: FastAPI) -> dict[str, Any]:
    """The OpenAPI document of an app, made once."""
    from fastapi.openapi.utils import get_openapi

    if app.openapi_schema is None:
        found = get_openapi(title=app.title, version=app.version, description=app.description, routes=app.routes)
        for path, operations in found["paths"].items():
            for method, operation in operations.items():
                _mended(method.upper(), path, operation)
        parts = found.setdefault("components", {})
        for name in ("HTTPValidationError", "ValidationError"):
            parts.get("schemas", {}).pop(name, None)
        parts.setdefault("schemas", {})["Problem"] = PROBLEM
        parts["responses"] = {"Problem": _content((MEDIA_TYPE,), {"$ref": "#/components/schemas/Problem"}, "A refusal")}
        parts["securitySchemes"] = {"token": {"type": "http", "scheme": "bearer"}}
        app.openapi_schema = found
    return app.openapi_schema


def _mended(method: str, path: str, operation: dict[str, Any]) -> None:
    """Put our refusals in the place of the framework's, and name the forms of replies."""
    replies = operation["responses"]
    replies.pop("422", None)
    forms = FORMS.get((method, path))
    if forms is not None:
        replies["200"] = _content(forms, {}, "What was asked for, in the form that Accept names")
    if (method, path) == ("POST", "/v1/ask"):
        replies["202"] = _content((JSON,), {"type": "object"}, "A steward has to approve it first")
    for status in ("4XX", "503"):
        replies[status] = {"$ref": "#/components/responses/Problem"}
    if TABLE.get((method, path)) is not OPEN:
        operation["security"] = [{"token": []}]


def _content(forms: tuple[str, ...], schema: dict[str, Any], description: str) -> dict[str, Any]:
    return {"description": description, "content": {form: {"schema": schema} for form in forms}}
