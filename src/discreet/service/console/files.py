"""The files a page loads: style, script and mark, read once and addressed by their content.

And the headers of everything the console sends: a page loads its own files, runs no script but them, sends forms
nowhere else, and is framed by nobody.
"""

from __future__ import annotations

import hashlib
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING

from starlette.responses import Response

if TYPE_CHECKING:
    from starlette.requests import Request

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self';"
    " form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
HEADERS = {
    "Content-Security-Policy": POLICY,
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=()",
}
KINDS = {"css": "text/css", "js": "text/javascript", "svg": "image/svg+xml"}
WEEK = 7 * 86_400  # seconds


@cache
def stored() -> dict[str, tuple[bytes, str]]:
    """Every file by its name, with the digest of its content."""
    folder = files("discreet.service.console") / "static"
    found = {file.name: file.read_bytes() for file in folder.iterdir() if file.name.rpartition(".")[2] in KINDS}
    return {name: (content, hashlib.sha256(content).hexdigest()[:16]) for name, content in found.items()}


def address(name: str) -> str:
    """Where a page finds a file; it changes with the content, so that no browser keeps an old one.

    >>> address("console.css").partition("?")[0]
    '/static/console.css'
    """
    return f"/static/{name}?v={stored()[name][1]}"


async def static(request: Request) -> Response:
    """One of the files, and nothing else that may lie on the disk."""
    name = request.path_params["name"]
    if name not in stored():
        return Response("no such file", status_code=404, media_type="text/plain", headers=HEADERS)
    content, digest = stored()[name]
    headers = HEADERS | {"Cache-Control": f"public, max-age={WEEK}, immutable", "ETag": f'"{digest}"'}
    return Response(content, media_type=KINDS[name.rpartition(".")[2]], headers=headers)
