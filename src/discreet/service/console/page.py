"""Pages: templates with every text escaped, and headers that let a page load nothing but its own files."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from functools import cache
from typing import TYPE_CHECKING

from starlette.responses import HTMLResponse, Response

from discreet.service.console.files import HEADERS as HEADERS
from discreet.service.console.files import address
from discreet.service.console.stream import Stream, Streamed

if TYPE_CHECKING:
    from jinja2 import Environment

PRIVATE = {"Cache-Control": "no-store"}  # a page belongs to whoever is signed in
REPORT_POLICY = "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'; sandbox"
PART = "Discreet-Part"  # a script asks for a piece of a page with it, and it is sent with one
LETTERS = {"epsilon": "\u03b5", "rho": "\u03c1", "delta": "\u03b4", "mu": "\u03bc"}
WIDEST = 32  # characters of a number, as it is shown
BLOCK = 16_384  # bytes; pages are padded, so that the digits of an answer do not show in encrypted lengths


@cache
def templates() -> Environment:
    """The templates of the package; a name that is not given is an error, not a blank."""
    from jinja2 import Environment, PackageLoader, StrictUndefined

    found = Environment(
        loader=PackageLoader("discreet.service.console"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    found.filters |= {"amount": amount, "promise": promise, "percent": percent, "rough": rough, "moment": moment}
    found.globals["static"] = address
    return found


def render(template: str, *, status: int = 200, room: int = 0, **context: object) -> HTMLResponse:
    """One page, padded with blanks: as many as `room`, and then to whole blocks."""
    text = templates().get_template(template).render(**context)
    return HTMLResponse(padded(text, room), status_code=status, headers=HEADERS | PRIVATE)


def padded(text: str, room: int = 0) -> bytes:
    """The text with blanks at its end: as many as `room`, and then to whole blocks."""
    body = text.encode() + b"\n" + b" " * room
    return body + b" " * (-len(body) % BLOCK)


def narrower(values: Iterable[object]) -> int:
    """By how many characters numbers are narrower than the widest: the room that a page of them needs.

    >>> narrower([7, 1234]) - narrower([1234, 1234])
    4
    """
    return sum(max(0, WIDEST - len(amount(value))) for value in values)


def amount(value: object) -> str:
    """A number as people read it; everything else as text.

    >>> amount(1234567), amount(0.30000000000000004), amount(1e-6), amount(1234.5), amount("cardiology"), amount(None)
    ('1,234,567', '0.3', '1e-06', '1,234.5', 'cardiology', '-')
    """
    match value:
        case None:
            return "-"
        case bool():
            return "true" if value else "false"
        case int():
            return f"{value:,}"
        case float():
            if math.isinf(value) or math.isnan(value):
                return "unbounded" if math.isinf(value) else "-"
            return f"{value:,.6g}" if abs(value) < 1e6 else f"{value:,.0f}"
        case _:
            return str(value)


def promise(text: object) -> str:
    """A guarantee in letters that people know, instead of the library's own spelling.

    >>> promise("ZCDP(rho=0.004)"), promise("ApproxDP(epsilon=0.5, delta=1e-06)"), promise(None)
    ('\u03c1 0.004', '\u03b5 0.5, \u03b4 1e-06', '-')
    """
    found = re.findall(r"(epsilon|rho|delta|mu)=([\d.e+-]+)", str(text))
    return ", ".join(f"{LETTERS[name]} {number}" for name, number in found) or ("-" if text is None else str(text))


def rough(value: float) -> str:
    """An error to four digits: a prediction needs no more.

    >>> rough(2500.0), rough(223.4154), rough(0.000246121), rough(1234567.8)
    ('2,500', '223.4', '0.0002461', '1,234,568')
    """
    return f"{value:,.0f}" if value >= 1000 else f"{value:.4g}"


def percent(share: float) -> str:
    """A share, with more digits where it is small or nearly the whole: only the whole is 100%.

    >>> percent(0.5), percent(0.0123), percent(0.00004), percent(0.0)
    ('50%', '1.2%', '0.004%', '0%')
    >>> percent(0.996), percent(0.99999), percent(1.0)
    ('99.6%', '99.999%', '100%')
    """
    if 0.995 <= share < 1:
        shown = (f"{share:.{digits}%}" for digits in range(1, 15))
        return next((text for text in shown if not text.startswith("100")), "100%")
    if share == 0 or share >= 0.1:
        return f"{share:.0%}"
    return f"{share:.1%}" if share >= 0.01 else f"{100 * share:.1g}%"


def moment(value: object) -> str:
    """A time of the record to the minute, in UTC; seconds since 1970 are taken as well.

    >>> moment("2026-11-16T21:33:35.123456+00:00"), moment(0.0), moment(None)
    ('2026-11-16 21:33', '1970-01-01 00:00', '-')
    """
    if isinstance(value, int | float):
        return datetime.fromtimestamp(value, UTC).strftime("%Y-%m-%d %H:%M")
    return "-" if value is None else str(value)[:16].replace("T", " ")


def listed(value: object) -> list[dict[str, object]]:
    """The records of a JSON list; anything else is no record."""
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []


def mapped(value: object) -> Mapping[str, object]:
    """A JSON object; anything else is an empty one."""
    return value if isinstance(value, dict) else {}


def document(content: bytes | Stream) -> Response:
    """A report as the library wrote it: a whole page with a style of its own, in which no script runs."""
    headers = HEADERS | PRIVATE | {"Content-Security-Policy": REPORT_POLICY}
    if isinstance(content, bytes):
        return HTMLResponse(content, headers=headers)
    return Streamed(content, media_type="text/html", headers=headers)


def fragment(template: str, *, status: int = 200, room: int = 0, **context: object) -> HTMLResponse:
    """A piece of a page, marked as one for the script that puts it in its place: nothing else is put there."""
    text = templates().get_template(template).render(**context)
    return HTMLResponse(padded(text, room), status_code=status, headers=HEADERS | PRIVATE | {PART: "yes"})
