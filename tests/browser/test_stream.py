"""discreet.service.console.stream: a file passes through the console in pieces, and ends where it ends."""

from __future__ import annotations

import asyncio
from types import SimpleNamespace

import pytest
from starlette.responses import FileResponse, JSONResponse

from discreet.service.console import orders
from discreet.service.console.api import Api, Declined
from discreet.service.console.stream import Streamed
from discreet.service.console.visit import Visit

PIECES = 200
PIECE = b"x" * 10_000


class Big:
    """An app that sends a large body and notes how much has been made."""

    def __init__(self, *, fails_at: int | None = None) -> None:
        self.made, self.ended, self.fails_at, self.scope = 0, False, fails_at, {}

    async def __call__(self, scope, receive, send):
        self.scope = scope
        assert (await receive())["more_body"] is False
        await send({"type": "http.response.start", "status": 200, "headers": []})
        for piece in range(PIECES):
            if piece == self.fails_at:
                return
            self.made += 1
            await send({"type": "http.response.body", "body": PIECE, "more_body": piece < PIECES - 1})
        self.ended = True


def test_a_piece_is_made_when_the_last_has_been_taken():
    app = Big()

    async def scenario():
        taken, ahead = 0, []
        async for piece in await Api(app, "s").file("/v1/jobs/1/result", query={"file": "a b.release"}):
            taken += len(piece) // len(PIECE)
            ahead.append(app.made - taken)
        return taken, max(ahead)

    taken, ahead = asyncio.run(scenario())

    assert (taken, app.ended) == (PIECES, True)
    assert ahead <= 2  # the whole file is never in memory
    assert (app.scope["path"], app.scope["query_string"]) == ("/v1/jobs/1/result", b"file=a+b.release")
    assert (b"authorization", b"Bearer s") in app.scope["headers"]


def test_a_reply_that_ends_early_is_no_file():
    async def scenario():
        return [piece async for piece in await Api(Big(fails_at=3), "s").file("/file")]

    with pytest.raises(RuntimeError, match="early"):
        asyncio.run(scenario())


def test_a_browser_that_goes_away_is_not_waited_for():
    app = Big()

    async def gone(message):
        raise OSError("the browser has gone")

    async def scenario():
        stream = await Api(app, "s").file("/file")
        with pytest.raises(BaseException, match=r"gone|unhandled"):  # some versions group it
            await Streamed(stream, media_type="text/csv", headers={})({"type": "http"}, asyncio.Event().wait, gone)
        for _ in range(10 * PIECES):
            await asyncio.sleep(0)

    asyncio.run(scenario())

    assert app.ended  # what the API does at the end is done


def test_a_problem_is_told_as_one():
    refusal = JSONResponse({"title": "There is nothing here", "detail": "no job"}, 404)
    with pytest.raises(Declined) as declined:
        asyncio.run(Api(refusal, "s").file("/v1/jobs/1/result"))

    assert (declined.value.status, str(declined.value)) == (404, "no job")


@pytest.mark.parametrize("handler", [orders.result, orders.report, orders.synthetic])
def test_files_of_orders_are_streamed(handler, tmp_path):
    (tmp_path / "kept").write_bytes(PIECE * 50)

    async def scenario():
        request = SimpleNamespace(path_params={"id": "1"}, query_params={"file": "kept.release"})
        api = Api(FileResponse(tmp_path / "kept"), "s")
        reply = await handler(Visit(request=request, api=api, me={}, csrf=""))
        return reply, b"".join([piece async for piece in reply.body_iterator])

    reply, content = asyncio.run(scenario())

    assert isinstance(reply, Streamed)
    assert content == PIECE * 50
    assert "content-security-policy" in reply.headers
    assert "content-length" not in reply.headers
