"""discreet.service.connections: a head that does not come is not waited for, and one that is too long is not kept."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager

import pytest
import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol
from uvicorn.server import ServerState

from discreet.service import connections, serve
from discreet.service.connections import Deadlined
from tests.service.conftest import hospital

WHOLE = b"GET / HTTP/1.1\r\nHost: here\r\n\r\n"
HALF = b"GET / HTTP/1.1\r\nHost: he"
PATIENCE = 60.0  # seconds, on a loaded machine


async def hello(scope, receive, send):
    await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"5")]})
    await send({"type": "http.response.body", "body": b"hello"})


@asynccontextmanager
async def connected(app=hello, kind=Deadlined):
    """A connection to a server of one app, and the protocols that the server has made."""
    config, made = uvicorn.Config(app, lifespan="off", log_config=None, **serve.LIMITS), []

    def protocol():
        made.append(kind(config=config, server_state=ServerState(), app_state={}))
        return made[-1]

    server = await asyncio.get_running_loop().create_server(protocol, "127.0.0.1", 0)
    reader, writer = await asyncio.open_connection(*server.sockets[0].getsockname()[:2])
    try:
        yield reader, writer, made
    finally:
        writer.close()
        server.close()


async def drip(writer):
    """A byte at a time, for ever."""
    while True:
        writer.write(b"x")
        await asyncio.sleep(0.01)


async def ended(reader, writer, patience=PATIENCE):
    """What comes before the server closes the connection, while bytes are sent to it."""
    dripping = asyncio.create_task(drip(writer))
    try:
        return await asyncio.wait_for(reader.read(), patience)
    except ConnectionError:
        return b""
    finally:
        dripping.cancel()


@pytest.mark.parametrize("sent", [b"", HALF], ids=["nothing", "half a head"])
def test_a_head_that_does_not_come_whole_is_not_waited_for(monkeypatch, sent):
    monkeypatch.setattr(connections, "HEAD_S", 0.2)

    async def scenario():
        async with connected() as (reader, writer, _):
            writer.write(sent)
            return await ended(reader, writer) if sent else await asyncio.wait_for(reader.read(), PATIENCE)

    assert asyncio.run(scenario()) == b""


def test_a_twin_without_a_deadline_waits(monkeypatch):
    monkeypatch.setattr(connections, "HEAD_S", 0.01)

    async def scenario():
        async with connected(kind=H11Protocol) as (reader, writer, _):
            writer.write(HALF)
            return await ended(reader, writer, 0.3)

    with pytest.raises(TimeoutError):
        asyncio.run(scenario())


def test_the_second_head_of_a_connection_has_a_deadline_too(monkeypatch):
    async def scenario():
        async with connected() as (reader, writer, _):
            writer.write(WHOLE)
            first = await asyncio.wait_for(reader.readuntil(b"hello"), PATIENCE)
            monkeypatch.setattr(connections, "HEAD_S", 0.2)
            writer.write(HALF)
            return first, await ended(reader, writer)

    first, rest = asyncio.run(scenario())

    assert first.startswith(b"HTTP/1.1 200")
    assert rest == b""


def test_a_whole_head_is_under_no_deadline_however_long_its_answer_takes():
    found = []

    async def slow(scope, receive, send):
        found.append(made[0].deadline)
        await hello(scope, receive, send)

    async def scenario():
        nonlocal made
        async with connected(slow) as (reader, writer, made):
            writer.write(HALF)
            writer.write(WHOLE[len(HALF) :])
            return await asyncio.wait_for(reader.readuntil(b"hello"), PATIENCE)

    made = []

    assert asyncio.run(scenario()).startswith(b"HTTP/1.1 200")
    assert found == [None]


def test_a_head_without_end_is_refused():
    async def scenario():
        async with connected() as (reader, writer, _):
            writer.write(HALF + b"x" * (serve.LIMITS["h11_max_incomplete_event_size"] + 1))
            return await asyncio.wait_for(reader.readline(), PATIENCE)

    assert asyncio.run(scenario()).startswith(b"HTTP/1.1 400")


def test_the_service_runs_within_these_limits(tmp_path, monkeypatch):
    told = {}
    monkeypatch.setattr(uvicorn, "run", lambda app, **given: told.update(given))
    monkeypatch.setattr(serve.signal, "signal", lambda *given: None)
    monkeypatch.setattr(serve.log, "set_up", lambda place: None)
    serve.serve(hospital(tmp_path))

    assert told.items() >= serve.LIMITS.items()
    assert uvicorn.Config(hello, **serve.LIMITS).limit_concurrency < 10_000
