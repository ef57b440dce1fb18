"""A curator's file with small tables, and a runner of it in a thread of its own, whose children fail on demand."""

from __future__ import annotations

import asyncio
import sys
import threading
from collections.abc import Coroutine, Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from discreet.curator import config
from discreet.service.running import runner as running
from discreet.service.running.frames import Message
from discreet.service.running.outcome import Order, Outcome
from discreet.service.running.process import command
from discreet.service.running.runner import Runner, message
from discreet.service.running.schedule import Slot
from discreet.service.settings import Settings
from tests.service import faulty

SLOT, MARGIN = 4.0, 1.0  # seconds; three of them for what takes a twentieth of one when nothing else runs
Found = TypeVar("Found")

FILE = """\
ledger = "ledger.db"

[budget]
epsilon = "100000"
delta = "1e-6"

[tables.visits]
source = "visits.parquet"
unit = "patient"
rows_per_unit = 2
groups_per_unit = 2

[tables.visits.columns]
patient = { type = "identifier" }
ward = { type = "categorical", values = ["cardiology", "oncology", "surgery"] }
age = { type = "integer", low = 0, high = 119 }
readmitted = { type = "boolean" }
"""


def written(folder: Path, *, rows: int = 500, ledger: str = "ledger.db") -> Path:
    """Write the data and the curator's file."""
    chance = np.random.default_rng(5)
    visits = {
        "patient": chance.integers(0, rows, rows),
        "ward": chance.choice(["cardiology", "oncology", "surgery"], rows),
        "age": chance.integers(0, 120, rows),
        "readmitted": chance.random(rows) < 0.2,
    }
    pq.write_table(pa.table(visits), folder / "visits.parquet")
    file = folder / "curator.toml"
    file.write_text(FILE.replace("ledger.db", ledger), encoding="utf-8")
    return file


class House:
    """A runner with its own event loop, and what the ledger says about it."""

    def __init__(self, file: Path, settings: Settings, *, faults: bool = True) -> None:
        self.file, self.settings = file, settings
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._thread.start()
        argv = [sys.executable, faulty.__file__, str(file)] if faults else command(file)
        self.runner = self.call(self._made(argv))

    async def _made(self, argv: list[str]) -> Runner:
        runner = Runner(self.file, self.settings, argv=argv)
        await runner.start()
        return runner

    def call(self, work: Coroutine[Any, Any, Found]) -> Found:
        """Run something in the loop and wait for it."""
        return asyncio.run_coroutine_threadsafe(work, self._loop).result(timeout=300)

    def all(self, *orders: Order) -> list[Outcome]:
        """The outcomes of orders that are given at once."""

        async def together() -> list[Outcome]:
            return list(await asyncio.gather(*map(self.runner.ask, orders)))

        return self.call(together())

    def close(self) -> None:
        """Stop everything."""
        self.call(self.runner.stop())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(timeout=60)
        self._loop.close()

    def spends(self, principal: str) -> list[Fraction]:
        """What a principal was charged, one number a spend."""
        with config.ledger(self.file, verify=False) as ledger:
            records = [entry.record for entry in ledger.entries()]
        mine = [one for one in records if one["kind"] == "spend" and one["analyst"] == principal]
        return [Fraction(one["price"]["epsilon"]) for one in mine]  # type: ignore[index,call-overload]

    def children(self) -> set[int]:
        """The processes that are there to be given orders."""
        return {child.pid for child in self.runner._all}


def settings(file: Path, **changes: Any) -> Settings:
    """Settings with long slots: a machine that is busy is not a reason to withhold."""
    chosen = {"children": 4, "slot": SLOT, "margin": MARGIN, "queue": 64, "memory": 512, "rate": 10**6}
    return Settings(**{**chosen, "store": str(file.with_name("service.db")), **changes})


def question(principal: str, *, epsilon: str = "0.5", key: str | None = None, **more: object) -> Order:
    """A question about the wards."""
    text = "SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward"
    body = {"question": text, "epsilon": epsilon, **more}
    return Order(kind="ask", principal=principal, body=body, key=key, tables=("visits",))


class Patient(Slot):
    """A slot at whose end nobody is killed."""

    @property
    def kill_at(self) -> float:
        """Never, as far as a test is concerned."""
        return self.start + 3600


def whenever(order: Order, slot: Slot) -> Message:
    """An order whose answer is kept whenever it is ready."""
    return {**message(order, slot), "store_at": None, "seconds": None}


@pytest.fixture
def unhurried(monkeypatch: pytest.MonkeyPatch) -> None:
    """However long the work takes on a busy machine, no answer is withheld for being late; replies leave as ever."""
    monkeypatch.setattr(running, "Slot", Patient)
    monkeypatch.setattr(running, "message", whenever)


@pytest.fixture(scope="session")
def house(tmp_path_factory: pytest.TempPathFactory) -> Iterator[House]:
    """One runner for all tests; each has principals of its own."""
    file = written(tmp_path_factory.mktemp("house"))
    made = House(file, settings(file))
    yield made
    made.close()
