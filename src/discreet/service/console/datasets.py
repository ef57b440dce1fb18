"""Datasets and what is publicly declared of them; made-up rows to develop against."""

from __future__ import annotations

from typing import TYPE_CHECKING
from urllib.parse import quote

from starlette.responses import Response

from discreet.service.console.page import HEADERS, PRIVATE, amount, listed, mapped
from discreet.service.console.stream import Stream, Streamed
from discreet.service.console.visit import Visit

if TYPE_CHECKING:
    from collections.abc import Mapping

KINDS = {
    "csv": "text/csv",
    "parquet": "application/vnd.apache.parquet",
    "arrow": "application/vnd.apache.arrow.stream",
    "json": "application/json",
}


async def datasets(visit: Visit) -> Response:
    """Every table this visitor may ask about."""
    found = await visit.api.get("/v1/datasets")
    return visit.page("datasets.html", datasets=listed(found.get("datasets")))


async def dataset(visit: Visit) -> Response:
    """One table: its columns with their bounds, and a first question."""
    name = visit.request.path_params["name"]
    found = await visit.api.get(f"/v1/datasets/{quote(name, safe='')}")
    columns = {column: mapped(entry) for column, entry in mapped(found.get("columns")).items()}
    rows = [{"name": column, "type": entry.get("type"), "values": values(entry)} for column, entry in columns.items()]
    return visit.page("dataset.html", dataset=found, columns=rows, first=first_question(name, columns))


async def mock(visit: Visit) -> Response:
    """Made-up rows as a file: drawn from the declaration alone, so they cost nothing."""
    name, asked = visit.request.path_params["name"], visit.request.query_params
    kind = asked.get("format", "csv") if asked.get("format", "csv") in KINDS else "csv"
    reply = await visit.api.call(
        "GET",
        f"/v1/datasets/{quote(name, safe='')}/mock",
        accept=KINDS[kind],
        query={"rows": asked.get("rows", "1000")},
    )
    return attachment(reply.content, kind, f"{name}-mock")


def attachment(content: bytes | Stream, kind: str, name: str) -> Response:
    """A file to keep, whole or in pieces, under a name of plain letters."""
    plain = "".join(letter if letter.isascii() and (letter.isalnum() or letter in "-_.") else "_" for letter in name)
    headers = HEADERS | PRIVATE | {"Content-Disposition": f'attachment; filename="{plain}.{kind}"'}
    media = KINDS.get(kind, "application/octet-stream")
    if isinstance(content, bytes):
        return Response(content, media_type=media, headers=headers)
    return Streamed(content, media_type=media, headers=headers)


def values(entry: Mapping[str, object]) -> str:
    """What a column may hold, in a few words.

    >>> values({"type": "integer", "low": 0, "high": 119}), values({"type": "boolean"})
    ('0 to 119', 'true or false')
    >>> values({"type": "categorical", "values": list("abcdefgh"), "nullable": True})
    'a, b, c, d, e, f and 2 more, or missing'
    """
    missing = ", or missing" if entry.get("nullable") else ""
    known = entry.get("values")
    if isinstance(known, list):
        more = f" and {len(known) - 6} more" if len(known) > 6 else ""
        return ", ".join(map(str, known[:6])) + more + missing
    if "low" in entry:
        step = f", in steps of {entry['step']}" if entry.get("step") not in (None, 1) else ""
        low, high = (amount(end) if isinstance(end, float) else end for end in (entry["low"], entry["high"]))
        return f"{low} to {high}{step}{missing}"
    told = {"boolean": "true or false", "identifier": "never shown", "text": f"up to {entry.get('max_bytes')} bytes"}
    return told.get(str(entry.get("type")), "") + missing


def first_question(table: str, columns: Mapping[str, Mapping[str, object]]) -> str:
    """A question to begin with: counts by the first column that has few values."""
    few = [_named(name) for name, entry in columns.items() if entry.get("type") in ("categorical", "boolean")]
    if not few:
        return f"SELECT COUNT(*) AS n\nFROM {_named(table)}"
    return f"SELECT {few[0]}, COUNT(*) AS n\nFROM {_named(table)}\nGROUP BY {few[0]}"


def _named(name: str) -> str:
    """A name as SQL takes it.

    >>> _named("ward"), _named("length of stay")
    ('ward', '"length of stay"')
    """
    plain = name.isascii() and name.isidentifier()
    return name if plain else '"' + name.replace('"', '""') + '"'
