"""discreet.service.console.picture: pictures without scripts, and pages whose length tells no digit."""

from __future__ import annotations

import asyncio
import base64
import threading
import time
from types import SimpleNamespace

import httpx
import numpy as np
import pyarrow as pa
import pytest

from discreet.curator.curator import Curator
from discreet.data.columns import Categorical
from discreet.data.domain import Domain
from discreet.data.table import Table
from discreet.privacy.guarantee import PureDP
from discreet.service.app import DRAWING
from discreet.service.console import ask
from discreet.service.console.page import WIDEST
from discreet.service.console.picture import picture
from discreet.service.console.visit import Visit
from discreet.service.running.work import Desk
from discreet.service.running.work import ask as answered

BODY = {"question": "SELECT ward, COUNT(*) AS n FROM wards GROUP BY ward", "epsilon": "1"}
DOMAIN = Domain({"ward": Categorical(["east", "west", "north"])})


def _document(rows: int) -> dict[str, object]:
    """The API's answer about so many rows."""
    table = Table(pa.table({"ward": np.resize(["east", "west"], rows)}), domain=DOMAIN, unit=None)
    with Curator({"wards": table}, budget=PureDP(1), ledger=":memory:") as curator:
        return answered(Desk(curator=curator, principal="ada", folder=None, tell=print), BODY)[0]


def _declared() -> dict[str, object]:
    bounds = {"rows_per_unit": 1, "groups_per_unit": 1, "n": None, "version": 1, "public": False}
    return {"name": "wards", "unit": None, **bounds, "columns": DOMAIN.to_dict()}


def test_a_picture_is_drawn_twice_and_holds_no_script():
    found = picture(_document(1000), BODY, {"wards": _declared()})
    images = [base64.b64decode(one.partition(",")[2]).decode() for one in (found.light, found.dark)]

    assert all(image.startswith("<svg") and "east" in image for image in images)
    assert [word for image in images for word in ("<script", "href=", "http:", "onload") if word in _shown(image)] == []
    assert images[0] != images[1]


def _shown(image: str) -> str:
    """The image without the names of its languages."""
    return image.replace('xmlns="http://www.w3.org/2000/svg"', "").replace(
        'xmlns:xlink="http://www.w3.org/1999/xlink"', ""
    )


def test_a_picture_of_other_numbers_than_were_released_is_not_drawn():
    document = _document(1000)
    document["rows"][0]["n"] += 1

    assert picture(document, BODY, {"wards": _declared()}) is None


class Stub:
    """An API that gives one answer."""

    def __init__(self, document: dict[str, object]) -> None:
        self._document = document

    async def call(self, method: str, path: str, **given: object) -> httpx.Response:
        return httpx.Response(200, json=self._document)

    async def get(self, path: str) -> dict[str, object]:
        return {"datasets": [_declared()]} if path == "/v1/datasets" else _declared()


async def _page(document: dict[str, object]) -> bytes:
    app = SimpleNamespace(state=SimpleNamespace(drawing=asyncio.Semaphore(1)))
    request = SimpleNamespace(query_params={}, url=SimpleNamespace(path="/ask/answer"), method="POST", app=app)
    form = {"question": BODY["question"], "currency": "epsilon", "amount": "1", "key": "0"}
    me = {"principal": "ada", "role": "analyst"}
    return (await ask.answer(Visit(request=request, api=Stub(document), me=me, csrf="", form=form))).body


def test_a_page_has_a_length_that_its_numbers_do_not_change():
    """Without the blanks the two have different lengths: the twin that pads nothing is caught."""
    few, many = (asyncio.run(_page(_document(rows))) for rows in (10, 300_000))

    assert b"<img" in few
    assert len(few) == len(many)
    assert len(few.rstrip()) != len(many.rstrip())


def test_a_wide_answer_is_not_drawn_and_leaves_no_room_for_a_picture(monkeypatch):
    monkeypatch.setattr(ask, "picture", lambda *given: pytest.fail("it is drawn"))
    cell = {"value": 7, "low": 4, "high": 10}
    shown = [ask.room([[cell]] * rows, None) for rows in (ask.PICTURED, ask.PICTURED + 1)]
    wide = {"rows": [{"n": 1}] * (ask.PICTURED + 1)}

    assert asyncio.run(ask._picture(SimpleNamespace(), wide, {"question": "q"})) is None
    assert shown[0] > ask.DRAWN_EACH * ask.PICTURED
    assert shown[1] <= 3 * WIDEST * (ask.PICTURED + 1)


def test_so_many_pictures_are_drawn_at_once_and_no_more(monkeypatch):
    drawing, most, lock = [], [], threading.Lock()

    def drawn(*given):
        with lock:
            drawing.append(1)
            most.append(len(drawing))
        time.sleep(0.02)
        with lock:
            drawing.pop()

    async def scenario():
        state = SimpleNamespace(drawing=asyncio.Semaphore(DRAWING))
        visit = SimpleNamespace(api=Stub({}), request=SimpleNamespace(app=SimpleNamespace(state=state)))
        await asyncio.gather(*(ask._picture(visit, {"rows": []}, {"question": "q"}) for _ in range(8)))

    monkeypatch.setattr(ask, "picture", drawn)
    asyncio.run(scenario())

    assert len(most) == 8
    assert max(most) <= DRAWING == 2
